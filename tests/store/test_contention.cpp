// Changes of a part of a chunk in a bucket whose server says, again and again, that another writer came between.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "array/model.hpp"
#include "core/backoff.hpp"
#include "penstock/array.hpp"
#include "remote.hpp"

using namespace penstock;
using namespace std::chrono_literals;
using penstock::test::Json;
using penstock::test::Remote;
using penstock::test::rule;
using Clock = std::chrono::steady_clock;

namespace {

class Contention : public Remote {
 protected:
  /// An array of one chunk, of ones.
  Array array_with(const std::map<std::string, std::string>& options) {
    Dataset d = test::dataset({4}, {4}, {test::bytes_codec()}, DType::uint8());
    Array array = Array::create(open_with(options), "a", d, Array::IfExists::overwrite).value();
    const Status status = write(array, 4, {});
    EXPECT_TRUE(status) << status.error().message();
    return array;
  }
  static Status write(Array& array, std::uint64_t count, const Options& options) {
    return test::write(array, {{0, count, 1}}, std::vector<std::byte>(count, std::byte{1}), options);
  }
  void refuse(int times) { server_.rules(rule("PUT", {{"status", 412}, {"times", times}})); }
  std::size_t puts() {
    std::size_t found = 0;
    for (const auto& one : server_.log()) found += one["method"] == "PUT" ? 1 : 0;
    return found;
  }
};

}  // namespace

TEST_F(Contention, AChangeIsBegunAnewAfterPausesThatGrow) {
  Array array = array_with({});
  refuse(5);
  const auto start = Clock::now();
  const Status status = write(array, 2, {});
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(puts(), 6u);
  EXPECT_GE(Clock::now() - start, 155ms) << "half of 10 + 20 + 40 + 80 + 160 ms";
}

TEST_F(Contention, ItEndsWithTheDeadlineOfRequests) {
  Array array = array_with({{"deadline", "500ms"}});
  refuse(-1);
  const auto start = Clock::now();
  const Status status = write(array, 2, {});
  const auto spent = Clock::now() - start;
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::changed);
  const std::string said = status.error().message();
  EXPECT_NE(
      said.find("vol.zarr/a/c/0: the object was replaced meanwhile; another writer kept changing it, in each of " +
                std::to_string(puts()) + " attempts in "),
      std::string::npos)
      << said;
  EXPECT_NE(status.error().hint().find("`deadline`"), std::string::npos) << status.error().hint();
  EXPECT_LT(spent, 1s);
  EXPECT_GE(puts(), 5u);
  EXPECT_LE(puts(), 9u) << "10 ms and its doubles fill 500 ms soon";
}

TEST_F(Contention, ItEndsWithTheDeadlineOfTheWrite) {
  Array array = array_with({});
  refuse(-1);
  Options options;
  const auto start = Clock::now();
  options.deadline = start + 400ms;
  const Status status = write(array, 2, options);
  ASSERT_FALSE(status);
  EXPECT_LT(Clock::now() - start, 1s);
  EXPECT_EQ(status.error().code(), ErrorCode::timed_out);
  EXPECT_NE(status.error().message().find("another writer kept changing it, in each of "), std::string::npos)
      << status.error().message();
}

TEST_F(Contention, ItCanBeCancelledWhileItPauses) {
  Array array = array_with({});
  refuse(-1);
  Options options;
  Status status;
  std::thread writer([&] { status = write(array, 2, options); });
  while (puts() < 8) std::this_thread::sleep_for(5ms);  // the next pause is of 640 ms at least
  std::this_thread::sleep_for(20ms);
  const auto start = Clock::now();
  options.cancel.cancel();
  writer.join();
  EXPECT_LT(Clock::now() - start, 400ms);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::cancelled);
  EXPECT_EQ(puts(), 8u);
}

TEST(Backoff, DoublesUpToItsMostAndHalfIsChance) {
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) {
    const auto third = backoff(3, 10ms, 1000ms);
    EXPECT_TRUE(third >= 20ms && third <= 40ms) << third.count();
    seen.insert(third.count());
    const auto late = backoff(1000, 10ms, 1000ms);
    EXPECT_TRUE(late >= 500ms && late <= 1000ms) << late.count();
  }
  EXPECT_GT(seen.size(), 5u);
}

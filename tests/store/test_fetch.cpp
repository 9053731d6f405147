// What every store promises about fetching, one body for all kinds.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "collect.hpp"
#include "slow_store.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::Collect;
using penstock::test::fetch_text;
using penstock::test::StoreCase;
using penstock::test::TemporaryDirectory;

namespace {

/// Each kind, and those that answer at once also behind a store that answers later from threads of its own.
class FetchContract : public testing::TestWithParam<std::tuple<StoreCase, bool>> {
 protected:
  void SetUp() override {
    auto opened = open_store(std::get<0>(GetParam()).url(scratch_), StoreMode::create);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = inner_ = *opened;
    if (std::get<1>(GetParam())) store_ = std::make_shared<test::SlowStore>(inner_, std::chrono::milliseconds(1));
  }
  void TearDown() override {
    if (inner_ == nullptr) return;
    EXPECT_TRUE(inner_->erase_prefix("")) << "named memory stores live on";
  }
  void put(std::string_view key, std::string_view text) { ASSERT_TRUE(inner_->set(key, as_bytes(text))); }

  TemporaryDirectory scratch_;
  std::shared_ptr<Store> inner_, store_;
};

}  // namespace

TEST_P(FetchContract, EveryRange) {
  put("a/k", "0123456789");
  put("empty", "");
  struct Case {
    const char* key;
    ByteRange range;
    const char* text;
    std::uint64_t offset;
  };
  const std::uint64_t huge = ~std::uint64_t{0};
  const std::vector<Case> cases{
      {"a/k", {}, "0123456789", 0},
      {"a/k", ByteRange::span(2, 3), "234", 2},
      {"a/k", ByteRange::span(0, 10), "0123456789", 0},
      {"a/k", ByteRange::span(10, 0), "", 10},
      {"a/k", ByteRange::from(7), "789", 7},
      {"a/k", ByteRange::from(10), "", 10},
      {"a/k", ByteRange::last(4), "6789", 6},
      {"a/k", ByteRange::last(0), "", 10},
      {"a/k", ByteRange::last(huge), "0123456789", 0},
      {"empty", {}, "", 0},
      {"empty", ByteRange::last(4), "", 0},
      {"empty", ByteRange::from(0), "", 0},
      {"empty", ByteRange::span(0, 0), "", 0},
      {"a/k", ByteRange::span(8, 3), "corrupt_data", 0},
      {"a/k", ByteRange::span(huge, 2), "corrupt_data", 0},
      {"a/k", ByteRange::span(2, huge), "corrupt_data", 0},
      {"a/k", ByteRange::from(11), "corrupt_data", 0},
      {"empty", ByteRange::span(0, 1), "corrupt_data", 0},
      {"nothing", {}, "absent", 0},
      {"nothing", ByteRange::last(4), "absent", 0},
      {"nothing/at/all", ByteRange::span(0, 1), "absent", 0},
      {"a/k/below", {}, "absent", 0},
      {"../k", {}, "invalid_argument", 0},
      {"", {}, "invalid_argument", 0},
  };
  std::vector<FetchRequest> requests;
  for (const Case& one : cases) requests.push_back({one.key, one.range});
  Collect sink;
  store_->fetch(requests, sink, {});
  ASSERT_TRUE(sink.wait(cases.size()));
  EXPECT_EQ(sink.repeated(), 0);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const FetchAnswer& answer = sink[i];
    EXPECT_EQ(sink.text(i), cases[i].text) << i;
    if (!answer.status) {
      EXPECT_NE(answer.status.error().message().find(cases[i].key), std::string::npos)
          << answer.status.error().message();
    } else if (!answer.absent) {
      EXPECT_EQ(answer.offset_bytes, cases[i].offset) << i;
      EXPECT_EQ(answer.object_bytes, cases[i].key[0] == 'a' ? 10u : 0u) << i;
      EXPECT_TRUE(answer.version.known()) << i;
    }
  }
}

TEST_P(FetchContract, NoRequestsAreNoAnswers) {
  Collect sink;
  store_->fetch({}, sink, {});
  EXPECT_EQ(sink.size(), 0u);
}

TEST_P(FetchContract, APinLeadsToTheOldVersionAfterAReplacement) {
  put("k", "old content");
  ObjectVersion old;
  ASSERT_EQ(fetch_text(*store_, {"k", ByteRange::last(3)}, &old), "ent");
  ASSERT_NE(old.pin, nullptr);
  put("k", "new");
  EXPECT_EQ(fetch_text(*store_, {"k", {}}), "new");
  const bool keeps = std::get<0>(GetParam()).keeps_old_versions;
  EXPECT_EQ(fetch_text(*store_, {"k", ByteRange::span(0, 11), &old}), keeps ? "old content" : "changed");
  ASSERT_TRUE(inner_->erase("k"));
  EXPECT_EQ(fetch_text(*store_, {"k", {}}), "absent");
  EXPECT_EQ(fetch_text(*store_, {"k", ByteRange::from(4), &old}), keeps ? "content" : "changed");
}

TEST_P(FetchContract, ANumberAloneTellsOfAReplacement) {
  put("k", "old content");
  ObjectVersion old;
  // A file has a number once it has been left alone for a while.
  for (int i = 0; i < 300 && old.number == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(fetch_text(*store_, {"k", {}}, &old), "old content");
  }
  ASSERT_NE(old.number, 0u);
  old.pin = nullptr;
  EXPECT_EQ(fetch_text(*store_, {"k", ByteRange::span(4, 3), &old}), "con");
  put("k", "NEW CONTENT");
  EXPECT_EQ(fetch_text(*store_, {"k", ByteRange::span(4, 3), &old}), "changed");
  ASSERT_TRUE(inner_->erase("k"));
  EXPECT_EQ(fetch_text(*store_, {"k", ByteRange::span(4, 3), &old}), "changed") << "absent is another version too";
}

TEST_P(FetchContract, AnUnknownVersionIsNotAnyVersion) {
  put("k", "content");
  const ObjectVersion unknown;
  EXPECT_EQ(fetch_text(*store_, {"k", {}, &unknown}), "changed");
}

TEST_P(FetchContract, ManyRangesOfManyKeysInAnyOrder) {
  constexpr std::size_t kKeys = 50, kRanges = 40;
  std::vector<std::string> keys;
  for (std::size_t k = 0; k < kKeys; ++k) {
    keys.push_back("c/" + std::to_string(k));
    put(keys.back(), std::string(kRanges, static_cast<char>('A' + k)));
  }
  std::vector<FetchRequest> requests;
  for (std::size_t i = 0; i < kRanges; ++i)
    for (std::size_t k = 0; k < kKeys; ++k) requests.push_back({keys[(k * 7 + i) % kKeys], ByteRange::span(i, 1)});
  Collect sink;
  store_->fetch(requests, sink, {});
  ASSERT_TRUE(sink.wait(requests.size()));
  EXPECT_EQ(sink.repeated(), 0);
  for (std::size_t i = 0; i < requests.size(); ++i)
    ASSERT_EQ(sink.text(i)[0] - 'A', std::stoi(std::string(requests[i].key.substr(2)))) << i;
}

TEST_P(FetchContract, MemoryThatIsRefusedFailsThatRequestOnly) {
  put("k", "0123456789");
  std::vector<FetchRequest> requests(3, {"k", ByteRange::last(4)});
  Collect sink;
  sink.on_room = [](std::size_t request, std::uint64_t) -> Status {
    if (request == 1) return Error(ErrorCode::budget_too_small, "no room");
    return {};
  };
  store_->fetch(requests, sink, {});
  ASSERT_TRUE(sink.wait(3));
  EXPECT_EQ(sink.text(0), "6789");
  // A store that has the bytes in memory does not ask.
  const bool asks = std::get<0>(GetParam()).name != "memory";
  EXPECT_EQ(sink.text(1), asks ? "budget_too_small" : "6789");
  EXPECT_EQ(sink.text(2), "6789");
}

TEST_P(FetchContract, CancelledRequestsAreAnsweredToo) {
  put("k", "0123456789");
  const std::vector<FetchRequest> requests(20, {"k", {}});
  FetchOptions options;
  options.cancel.cancel();
  Collect sink;
  store_->fetch(requests, sink, options);
  ASSERT_TRUE(sink.wait(20));
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(sink.text(i), "cancelled");
}

TEST_P(FetchContract, AnswersOutliveTheKey) {
  put("k", "0123456789");
  Collect sink;
  const FetchRequest request{"k", ByteRange::span(3, 4)};
  store_->fetch({&request, 1}, sink, {});
  ASSERT_TRUE(sink.wait(1));
  put("k", "something else, and longer");
  ASSERT_TRUE(inner_->erase("k"));
  EXPECT_EQ(sink.text(0), "3456");
}

// Each value is one letter, as often as it says: an answer is never of two versions, whoever replaces them meanwhile.
TEST_P(FetchContract, ManyThreadsWhileWritersReplace) {
  const auto value = [](int i) {
    return std::string(static_cast<std::size_t>(100 * (i % 20 + 1)), static_cast<char>('a' + i % 20));
  };
  const bool keeps = std::get<0>(GetParam()).keeps_old_versions;
  std::shared_ptr<Store> reader = store_, writer = inner_;
  if (!keeps)  // versitygw looks at the version in one step and opens the object in another
    reader = writer = open_store("s3://bucket/replaced", StoreMode::create,
                                 penstock::test::s3_options_of(penstock::test::ObjectServer::get().url()))
                          .value();
  ASSERT_TRUE(writer->set("k", as_bytes(value(0))));
  std::atomic<bool> over{false};
  std::atomic<int> bad{0}, whole{0};
  const auto read = [&] {
    while (!over) {
      ObjectVersion version;
      const std::string tail = fetch_text(*reader, {"k", ByteRange::last(50)}, &version);
      const std::string all = fetch_text(*reader, {"k", {}, &version});
      const bool changed = !keeps && all == "changed";
      const bool same = !all.empty() && all.size() == 100 * static_cast<std::size_t>(all[0] - 'a' + 1) &&
                        all.find_first_not_of(all[0]) == std::string::npos && tail[0] == all[0];
      if (tail.size() != 50 || (!changed && !same)) {
        ++bad;
        ADD_FAILURE() << tail << ", then " << all;
      }
      ++whole;
    }
  };
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 4; ++i) readers.emplace_back(read);
    for (int i = 0; i < 300 || whole < 20; ++i)
      if (!writer->set("k", as_bytes(value(i)))) ++bad;
    over = true;
  }
  EXPECT_EQ(bad, 0);
}

TEST_P(FetchContract, TraitsSayWhy) {
  put("k", "x");
  for (const char* key : {"k", "absent", ""}) EXPECT_FALSE(store_->traits(key).reason.empty()) << key;
  EXPECT_EQ(store_->traits("k").requests_in_flight > 0,
            std::get<1>(GetParam()) || std::get<0>(GetParam()).answers_later);
}

INSTANTIATE_TEST_SUITE_P(Every, FetchContract,
                         testing::Combine(testing::ValuesIn(penstock::test::store_cases()), testing::Values(false)),
                         [](const auto& one) { return std::get<0>(one.param).name; });
INSTANTIATE_TEST_SUITE_P(Later, FetchContract,
                         testing::Combine(testing::ValuesIn(penstock::test::blocking_store_cases()),
                                          testing::Values(true)),
                         [](const auto& one) { return std::get<0>(one.param).name; });

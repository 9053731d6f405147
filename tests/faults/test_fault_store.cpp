#include "faults/fault_store.hpp"

#include <gtest/gtest.h>

using namespace penstock;
using penstock::test::Fault;
using penstock::test::FaultStore;
using penstock::test::StoreOp;

namespace {

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* key : {"a/0", "a/1", "b"}) ASSERT_TRUE(store_.set(key, as_bytes("0123456789")));
  }
  std::string get(std::string_view key) {
    Bytes out;
    const auto found = store_.get(key, out);
    if (!found) return std::string(error_name(found.error().code()));
    return *found ? std::string(as_text(out)) : "absent";
  }
  FaultStore store_{open_store("memory://", StoreMode::create).value()};
};

}  // namespace

TEST_F(Faults, NoneAreInventedAndCallsAreCounted) {
  EXPECT_EQ(get("b"), "0123456789");
  EXPECT_EQ(store_.calls(StoreOp::open), 1u);
  EXPECT_EQ(store_.calls(StoreOp::read), 1u);
  EXPECT_EQ(store_.calls(StoreOp::set), 3u);
  EXPECT_EQ(store_.bytes_read(), 10u);
}

TEST_F(Faults, HitTheChosenKeysAndCalls) {
  store_.add({.op = StoreOp::read, .keys = "a/*", .skip = 1, .times = 1, .error = ErrorCode::io_error});
  EXPECT_EQ(get("b"), "0123456789");
  EXPECT_EQ(get("a/0"), "0123456789");
  EXPECT_EQ(get("a/1"), "io_error");
  EXPECT_EQ(get("a/1"), "0123456789");
  store_.add({.op = StoreOp::open, .error = ErrorCode::permission_denied});
  EXPECT_EQ(get("b"), "permission_denied");
  store_.clear();
  EXPECT_EQ(get("b"), "0123456789");
}

TEST_F(Faults, OfEveryKind) {
  store_.add({.op = StoreOp::set, .error = ErrorCode::no_space});
  store_.add({.op = StoreOp::erase, .error = ErrorCode::permission_denied});
  store_.add({.op = StoreOp::list, .error = ErrorCode::io_error});
  store_.add({.op = StoreOp::flush, .error = ErrorCode::io_error});
  store_.add({.op = StoreOp::open, .keys = "a/0", .only_bytes = 4});
  store_.add({.op = StoreOp::open, .keys = "a/1", .vanishes = true});
  EXPECT_EQ(store_.set("b", {}).error().code(), ErrorCode::no_space);
  EXPECT_EQ(store_.erase("b").error().code(), ErrorCode::permission_denied);
  EXPECT_EQ(store_.erase_prefix("b").error().code(), ErrorCode::permission_denied);
  EXPECT_EQ(store_.list("").error().code(), ErrorCode::io_error);
  EXPECT_EQ(store_.list_dir("").error().code(), ErrorCode::io_error);
  EXPECT_EQ(store_.flush().error().code(), ErrorCode::io_error);
  EXPECT_EQ(get("a/0"), "0123");
  EXPECT_EQ(get("a/1"), "absent");
  EXPECT_EQ(get("b"), "0123456789") << "the old object stays";
}

TEST_F(Faults, SlowReads) {
  using namespace std::chrono_literals;
  store_.add({.op = StoreOp::read, .delay = 20ms});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(get("b"), "0123456789");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { (void)get("b"); });
  }
  EXPECT_GE(store_.max_reads_at_once(), 2);
}

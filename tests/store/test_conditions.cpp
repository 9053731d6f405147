// Writes that depend on what stands under the key.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "collect.hpp"
#include "open_object.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::fetch_text;
using penstock::test::open_object;
using penstock::test::StoreCase;
using penstock::test::TemporaryDirectory;

namespace {

/// A store that knows no versions, as some across a network.
class Unversioned final : public BlockingStore {
 public:
  explicit Unversioned(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}
  std::string url() const override { return inner_->url(); }
  std::string path_taken() const override { return inner_->path_taken(); }
  bool writable() const override { return true; }
  Result<std::unique_ptr<Object>> open(std::string_view key) const override {
    PENSTOCK_ASSIGN(std::unique_ptr<Object> object, open_object(*inner_, key));
    if (object == nullptr) return object;
    return std::unique_ptr<Object>(std::make_unique<Plain>(std::move(object)));
  }
  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override { return inner_->list_dir(prefix); }
  Status set(std::string_view key, ByteView value) override { return inner_->set(key, value); }
  Status erase(std::string_view key) override { return inner_->erase(key); }

 private:
  class Plain final : public Object {
   public:
    explicit Plain(std::unique_ptr<Object> inner) : inner_(std::move(inner)) {}
    std::uint64_t size_bytes() const override { return inner_->size_bytes(); }
    Status read(std::uint64_t offset_bytes, ByteSpan into) const override { return inner_->read(offset_bytes, into); }

   private:
    std::unique_ptr<Object> inner_;
  };
  std::shared_ptr<Store> inner_;
};

class Conditions : public testing::TestWithParam<StoreCase> {
 protected:
  void SetUp() override {
    url_ = GetParam().url(scratch_);
    store_ = open_store(url_, StoreMode::create).value();
  }
  void TearDown() override { EXPECT_TRUE(store_->erase_prefix("")); }
  static Status put(Store& store, std::string_view text, const WriteCondition& condition) {
    const ByteView part = as_bytes(text);
    return store.set_if("k", {&part, 1}, condition, CancelToken());
  }
  Status put(std::string_view text, const WriteCondition& condition) { return put(*store_, text, condition); }
  ObjectVersion version() {
    ObjectVersion now;
    EXPECT_NE(fetch_text(*store_, {"k", {}}, &now), "absent");
    return now;
  }
  std::string text() { return fetch_text(*store_, {"k", {}}); }
  TemporaryDirectory scratch_;
  std::string url_;
  std::shared_ptr<Store> store_;
};
/// On stores whose objects can be opened.
class PlainConditions : public Conditions {};

void expect_changed(const Status& status) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::changed) << status.error().message();
  EXPECT_NE(status.error().message().find("/k: "), std::string::npos) << status.error().message();
}

}  // namespace

TEST_P(Conditions, Absent) {
  EXPECT_TRUE(put("first", WriteCondition::absent()));
  expect_changed(put("second", WriteCondition::absent()));
  EXPECT_EQ(text(), "first");
  ASSERT_TRUE(store_->erase("k"));
  EXPECT_TRUE(put("third", WriteCondition::absent()));
  EXPECT_TRUE(put("fourth", WriteCondition::any()));
  EXPECT_EQ(text(), "fourth");
}

TEST_P(Conditions, OneVersionOnly) {
  ASSERT_TRUE(store_->set("k", as_bytes("one")));
  const ObjectVersion one = version();
  EXPECT_TRUE(put("two", WriteCondition::same_as(one)));
  expect_changed(put("lost", WriteCondition::same_as(one)));
  EXPECT_EQ(text(), "two");
  const ObjectVersion two = version();
  ASSERT_TRUE(store_->erase("k"));
  expect_changed(put("lost", WriteCondition::same_as(two)));
  EXPECT_EQ(text(), "absent");
}

// Of the same size, and so soon that the times of files do not tell.
TEST_P(Conditions, AYoungVersionIsKnownByItsPin) {
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(store_->set("k", as_bytes("one")));
    const ObjectVersion one = version();
    ASSERT_TRUE(put("two", WriteCondition::same_as(one))) << i;
    const ObjectVersion two = version();
    ASSERT_TRUE(store_->set("k", as_bytes("TWO")));
    expect_changed(put("lost", WriteCondition::same_as(two)));
    ASSERT_EQ(text(), "TWO");
  }
}

TEST_P(Conditions, AnUnknownVersionIsNotAnyVersion) {
  expect_changed(put("lost", WriteCondition::same_as({})));
  ASSERT_TRUE(store_->set("k", as_bytes("one")));
  expect_changed(put("lost", WriteCondition::same_as({})));
  EXPECT_EQ(text(), "one");
}

TEST_P(PlainConditions, AStoreWithoutVersionsRefuses) {
  Unversioned plain(store_);
  ASSERT_TRUE(plain.set("k", as_bytes("one")));
  ObjectVersion read;
  ASSERT_EQ(fetch_text(plain, {"k", {}}, &read), "one");
  EXPECT_EQ(read.number, 0u);
  expect_changed(put(plain, "lost", WriteCondition::same_as(read)));
  EXPECT_EQ(text(), "one");
  EXPECT_EQ(fetch_text(plain, {"k", ByteRange::span(0, 2), &read}), "on") << "an open object is still itself";
}

TEST_P(Conditions, AMemberKeepsItsVersionWhenOthersAreWritten) {
  ASSERT_TRUE(store_->set("k", as_bytes("one")));
  ASSERT_TRUE(store_->flush());
  const ObjectVersion one = version();
  ASSERT_TRUE(store_->set("other", as_bytes("x")));
  EXPECT_TRUE(put("two", WriteCondition::same_as(one)));
}

// Each adds one to a number that is read and written with a condition.  Both have read before either writes, so in each
// round one is refused at least, and then reads anew.
TEST_P(Conditions, TwoWritersLoseNothing) {
  constexpr int kRounds = 200;
  ASSERT_TRUE(store_->set("k", as_bytes("0")));
  std::atomic<int> refused{0}, failed{0};
  std::barrier both_have_read(2);
  const auto count = [&] {
    for (int i = 0; i < kRounds; ++i) {
      for (bool first = true;; first = false) {
        ObjectVersion read;
        const std::string now = fetch_text(*store_, {"k", {}}, &read);
        if (first) both_have_read.arrive_and_wait();
        const Status status = put(std::to_string(std::atoi(now.c_str()) + 1), WriteCondition::same_as(read));
        if (status) break;
        ++(status.error().code() == ErrorCode::changed ? refused : failed);
        if (failed > 0) break;
      }
    }
  };
  {
    const std::jthread one(count), two(count);
  }
  EXPECT_EQ(failed, 0);
  EXPECT_GE(refused, kRounds);
  EXPECT_EQ(text(), std::to_string(2 * kRounds));
}

INSTANTIATE_TEST_SUITE_P(Every, Conditions, testing::ValuesIn(penstock::test::store_cases()),
                         penstock::test::case_name);

// The same by processes.
TEST(ConditionsOfFiles, TwoProcessesLoseNothing) {
  constexpr int kEach = 100;
  const TemporaryDirectory scratch;
  const auto store = open_store(scratch / "store", StoreMode::create).value();
  ASSERT_TRUE(store->set("k", as_bytes("0")));
  const auto count = [&] {
    const auto mine = open_store(scratch / "store", StoreMode::read_write);
    if (!mine) return 2;
    for (int i = 0; i < kEach;) {
      ObjectVersion read;
      const std::string next = std::to_string(std::atoi(fetch_text(**mine, {"k", {}}, &read).c_str()) + 1);
      const ByteView part = as_bytes(next);
      const Status status = (*mine)->set_if("k", {&part, 1}, WriteCondition::same_as(read), CancelToken());
      if (!status && status.error().code() != ErrorCode::changed) return 3;
      if (status) ++i;
    }
    return 0;
  };
  pid_t children[2];
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) _exit(count());
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(fetch_text(*store, {"k", {}}), std::to_string(2 * kEach));
}

TEST(ConditionsOfFiles, ADirectoryThatWasMadeAnewIsLockedAnew) {
  const TemporaryDirectory scratch;
  const auto store = open_store(scratch / "store", StoreMode::create).value();
  const auto always = [] { return Status(); };
  auto first = store->lock("a/k", LockUse::change, always).value();
  std::atomic<bool> waits = false, holds = false;
  std::jthread waiter([&] {
    const auto late = store->lock("a/k", LockUse::change, [&] {
      waits = true;
      return Status();
    });
    holds = late.has_value();
  });
  while (!waits) std::this_thread::yield();
  ASSERT_TRUE(store->erase_prefix("a"));
  ASSERT_TRUE(store->set("a/k", as_bytes("x")));
  auto second = store->lock("a/k", LockUse::change, always).value();
  first.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(holds) << "two hold it: one the directory that is gone";
  second.reset();
  waiter.join();
  EXPECT_TRUE(holds);
}

TEST(ConditionsOfFiles, TheWaitForTheLockCanBeCancelled) {
  const TemporaryDirectory scratch;
  const auto store = open_store(scratch / "store", StoreMode::create).value();
  const auto held = store->lock("k", LockUse::change, [] { return Status(); }).value();
  const CancelToken cancel;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel.cancel();
  });
  const ByteView part = as_bytes("x");
  const Status status = store->set_if("k", {&part, 1}, WriteCondition::absent(), cancel);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::cancelled);
}
INSTANTIATE_TEST_SUITE_P(Every, PlainConditions, testing::ValuesIn(penstock::test::blocking_store_cases()),
                         penstock::test::case_name);

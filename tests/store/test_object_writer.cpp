// Objects that are written bit by bit.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "collect.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::fetch_text;
using penstock::test::StoreCase;
using penstock::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

/// A store that has set() alone, so that writers go the default way.
class Plain final : public Store {
 public:
  explicit Plain(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}
  std::string url() const override { return inner_->url(); }
  std::string path_taken() const override { return inner_->path_taken(); }
  bool writable() const override { return inner_->writable(); }
  void fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const override {
    inner_->fetch(requests, sink, options);
  }
  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override { return inner_->list_dir(prefix); }
  Status set(std::string_view key, ByteView value) override { return inner_->set(key, value); }
  Status erase(std::string_view key) override { return inner_->erase(key); }
  Status flush() override { return inner_->flush(); }

 private:
  std::shared_ptr<Store> inner_;
};

class Writers : public testing::TestWithParam<std::tuple<StoreCase, bool>> {
 protected:
  void SetUp() override {
    url_ = std::get<0>(GetParam()).url(scratch_);
    store_ = inner_ = open_store(url_, StoreMode::create).value();
    if (std::get<1>(GetParam())) store_ = std::make_shared<Plain>(inner_);
  }
  void TearDown() override { EXPECT_TRUE(inner_->erase_prefix("")); }
  std::string text(std::string_view key) { return fetch_text(*store_, {key, {}}); }
  /// Files in the scratch directory, hidden ones too.
  std::size_t files() {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) count += entry.is_regular_file();
    return count;
  }
  TemporaryDirectory scratch_;
  std::string url_;
  std::shared_ptr<Store> inner_, store_;
};

}  // namespace

TEST_P(Writers, AppendedAndOverwritten) {
  const auto writer = store_->writer("deep/er/k").value();
  ASSERT_TRUE(writer->append(as_bytes("????")));
  ASSERT_TRUE(writer->append(as_bytes(" and more")));
  ASSERT_TRUE(writer->append({}));
  ASSERT_TRUE(writer->write_at(0, as_bytes("head")));
  EXPECT_EQ(writer->size_bytes(), 13u);
  EXPECT_EQ(text("deep/er/k"), "absent") << "not before it is committed";
  EXPECT_TRUE(store_->list("").value().empty()) << "nor listed";
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(text("deep/er/k"), "head and more");
  EXPECT_EQ(store_->list("").value(), (std::vector<std::string>{"deep/er/k"}));
  EXPECT_EQ(writer->append(as_bytes("late")).error().code(), ErrorCode::closed);
  EXPECT_EQ(writer->commit().error().code(), ErrorCode::closed);
  EXPECT_EQ(text("deep/er/k"), "head and more");
}

TEST_P(Writers, EmptyObjectsAndHoles) {
  ASSERT_TRUE(store_->writer("empty").value()->commit());
  EXPECT_EQ(text("empty"), "");
  const auto writer = store_->writer("k").value();
  ASSERT_TRUE(writer->write_at(5, as_bytes("x")));
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(text("k"), std::string("\0\0\0\0\0x", 6));
}

TEST_P(Writers, LargeOnesAreWhole) {
  std::string expected;
  const auto writer = store_->writer("k").value();
  for (int i = 0; i < 2000; ++i) {
    const std::string piece(static_cast<std::size_t>(5000 + i), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(writer->append(as_bytes(piece)));
    expected += piece;
  }
  ASSERT_TRUE(writer->commit());
  ASSERT_TRUE(store_->flush());
  EXPECT_TRUE(text("k") == expected);
}

TEST_P(Writers, DroppedOnesLeaveNothing) {
  ASSERT_TRUE(store_->set("k", as_bytes("old")));
  ASSERT_TRUE(store_->flush());
  const std::size_t before = files();
  {
    const auto writer = store_->writer("k").value();
    ASSERT_TRUE(writer->append(as_bytes("new")));
  }
  EXPECT_EQ(text("k"), "old");
  EXPECT_EQ(files(), before);
}

TEST_P(Writers, TwoOfOneKeyAreBothWholeAndTheLastStands) {
  const auto one = store_->writer("k").value(), two = store_->writer("k").value();
  ASSERT_TRUE(one->append(as_bytes("one")));
  ASSERT_TRUE(two->append(as_bytes("twotwo")));
  ASSERT_TRUE(one->append(as_bytes("one")));
  ASSERT_TRUE(two->commit());
  EXPECT_EQ(text("k"), "twotwo");
  ASSERT_TRUE(one->commit());
  EXPECT_EQ(text("k"), "oneone");
}

TEST_P(Writers, CommitTakesAConditionToo) {
  const auto one = store_->writer("k").value(), two = store_->writer("k").value();
  ASSERT_TRUE(one->append(as_bytes("one")));
  ASSERT_TRUE(two->append(as_bytes("two")));
  ASSERT_TRUE(one->commit(WriteCondition::absent(), CancelToken()));
  EXPECT_EQ(two->commit(WriteCondition::absent(), CancelToken()).error().code(), ErrorCode::changed);
  EXPECT_EQ(text("k"), "one");
}

TEST_P(Writers, BadKeysAndStoresForReadingAreRefused) {
  for (const char* key : {"", "/a", "a/../b"})
    EXPECT_EQ(store_->writer(key).error().code(), ErrorCode::invalid_argument) << key;
  ASSERT_TRUE(store_->flush());
  const auto reader = open_store(url_, StoreMode::read).value();
  EXPECT_EQ(reader->writer("k").error().code(), ErrorCode::permission_denied);
}

TEST_P(Writers, NoObjectEndsBeyondWhatAFileCanHave) {
  const auto writer = store_->writer("k").value();
  EXPECT_EQ(writer->write_at(~std::uint64_t{0}, as_bytes("x")).error().code(), ErrorCode::out_of_range);
}

INSTANTIATE_TEST_SUITE_P(Every, Writers,
                         testing::Combine(testing::ValuesIn(penstock::test::store_cases()), testing::Bool()),
                         [](const auto& one) {
                           return std::get<0>(one.param).name + (std::get<1>(one.param) ? "_by_default" : "");
                         });

TEST(WritersOfFiles, KilledOnesLeaveTheOldObject) {
  const TemporaryDirectory scratch;
  for (const std::string name : {"store", "store.zip"}) {
    const std::string url = scratch / name;
    {
      const auto store = open_store(url, StoreMode::create).value();
      ASSERT_TRUE(store->set("g/k", as_bytes("old")));
      ASSERT_TRUE(store->flush());
    }
    const pid_t child = ::fork();
    if (child == 0) {
      const auto store = open_store(url, StoreMode::read_write);
      if (!store) _exit(2);
      const auto writer = (*store)->writer("g/k");
      if (!writer || !(*writer)->append(as_bytes(std::string(100'000, 'n')))) _exit(3);
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    const auto store = open_store(url, StoreMode::read_write).value();
    EXPECT_EQ(fetch_text(*store, {"g/k", {}}), "old") << name;
    EXPECT_EQ(store->list("").value(), (std::vector<std::string>{"g/k"})) << "what is left is not listed";
    const auto next = store->writer("g/k").value();
    ASSERT_TRUE(next->append(as_bytes("new")));
    ASSERT_TRUE(next->commit());
    EXPECT_EQ(fetch_text(*store, {"g/k", {}}), "new") << name;
  }
}

TEST(WritersOfFiles, ADirectoryThatIsTakenAwayIsAnError) {
  const TemporaryDirectory scratch;
  const auto store = open_store(scratch / "store", StoreMode::create).value();
  const auto writer = store->writer("g/k").value();
  ASSERT_TRUE(writer->append(as_bytes("new")));
  ASSERT_TRUE(store->erase_prefix("g"));
  const Status status = writer->commit();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("g/k"), std::string::npos) << status.error().message();
  EXPECT_EQ(fetch_text(*store, {"g/k", {}}), "absent");
}

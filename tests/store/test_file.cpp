// What only a directory of files can meet: directories at keys, permissions, links, pipes, leftovers.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "in_child.hpp"
#include "open_object.hpp"
#include "store/posix.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::in_child;
using penstock::test::open_object;
using penstock::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

class FileStore : public testing::Test {
 protected:
  void SetUp() override { store_ = open_store(root(), StoreMode::create).value(); }
  std::string root() const { return scratch_ / "store"; }
  void write(const std::string& key, const std::string& text) const {
    fs::create_directories(fs::path(root() + "/" + key).parent_path());
    std::ofstream(root() + "/" + key) << text;
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root())) count += entry.is_regular_file();
    return count;
  }
  TemporaryDirectory scratch_;
  std::shared_ptr<Store> store_;
};

/// Runs `body` in a child that is nobody, when we are root; its result must be "".
std::string as_nobody(const std::function<std::string()>& body) {
  return in_child([&]() -> std::string {
    constexpr unsigned kNobody = 65534;
    const bool nobody =
        ::geteuid() != 0 || (::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0);
    return nobody ? body() : "cannot become nobody";
  });
}

std::string describe(const Error& error) { return std::string(error_name(error.code())) + "|" + error.message(); }

}  // namespace

TEST_F(FileStore, ADirectoryAtAKeyIsAnErrorThatNamesIt) {
  write("c/0/0", "chunk");
  Bytes out;
  for (const Error& error : {open_object(*store_, "c/0").error(), store_->get("c/0", out).error(),
                             store_->set("c/0", as_bytes("x")).error(), store_->size_bytes("c/0").error()}) {
    EXPECT_EQ(error.code(), ErrorCode::is_directory);
    EXPECT_EQ(error.message(), root() + "/c/0: is a directory (errno 21)");
    EXPECT_EQ(error.system_errno(), EISDIR);
  }
  EXPECT_EQ(files(), 1u) << "no temporary file stays";
}

TEST_F(FileStore, AFileInTheWayOfADirectoryIsAnError) {
  write("c", "file");
  const Status status = store_->set("c/0/0", as_bytes("x"));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().system_errno(), ENOTDIR) << status.error().message();
  EXPECT_FALSE(status.error().hint().empty());
}

TEST_F(FileStore, AFileThatGotShorterIsCorruptData) {
  write("k", "0123456789");
  const auto object = open_object(*store_, "k").value();
  fs::resize_file(root() + "/k", 4);
  std::string into(8, '-');
  const Status status = object->read(0, std::as_writable_bytes(std::span(into)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::corrupt_data);
  EXPECT_EQ(status.error().message(), root() + "/k: the file ends at byte 4, wanted 8 bytes from byte 0");
}

TEST_F(FileStore, UnreadableFilesAndDirectoriesAreErrors) {
  write("closed/k", "x");
  write("k", "x");
  write("locked/k", "x");
  fs::permissions(scratch_.path(), fs::perms(0755));
  fs::permissions(root(), fs::perms(0755));
  fs::permissions(root() + "/k", fs::perms(0));
  fs::permissions(root() + "/closed", fs::perms(0));
  fs::permissions(root() + "/locked", fs::perms(0555));
  const std::string got = as_nobody([&]() -> std::string {
    const auto store = open_store(root(), StoreMode::read_write);
    if (!store) return describe(store.error());
    Bytes out;
    std::string all;
    for (const char* key : {"k", "closed/k"}) {
      const auto found = (*store)->get(key, out);
      all += (found ? "readable" : describe(found.error())) + "\n";
    }
    const auto listed = (*store)->list("");
    all += (listed ? "listable" : describe(listed.error())) + "\n";
    const Status set = (*store)->set("locked/new", as_bytes("x"));
    return all + (set ? "writable" : describe(set.error()));
  });
  fs::permissions(root() + "/closed", fs::perms(0755));
  const std::string denied = ": permission denied (errno 13)";
  EXPECT_EQ(got, "permission_denied|" + root() + "/k" + denied + "\npermission_denied|" + root() + "/closed/k" +
                     denied + "\npermission_denied|" + root() + "/closed" + denied + "\npermission_denied|" + root() +
                     "/locked/new" + denied);
}

TEST_F(FileStore, APipeInThePlaceOfAChunkDoesNotHang) {
  ASSERT_EQ(::mkfifo((root() + "/pipe").c_str(), 0600), 0);
  const auto object = open_object(*store_, "pipe");
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().message(), root() + "/pipe: not a regular file");
}

TEST_F(FileStore, LinksAreFollowedAndLoopsEnd) {
  write("real/c/0", "x");
  fs::create_directory_symlink(root() + "/real", root() + "/link");
  fs::create_directory_symlink("..", root() + "/real/up");
  fs::create_symlink("nowhere", root() + "/dangling");
  Bytes out;
  EXPECT_TRUE(store_->get("link/c/0", out).value());
  EXPECT_FALSE(store_->get("dangling", out).value());
  EXPECT_EQ(store_->list("").value(), (std::vector<std::string>{"link/c/0", "real/c/0"}));
  ASSERT_TRUE(store_->erase_prefix("link"));
  EXPECT_TRUE(store_->get("real/c/0", out).value()) << "a link is removed, not what it leads to";
}

TEST_F(FileStore, LinksThatMultiplyAreBounded) {
  // Each level leads to the next by two links: 2^40 paths.
  for (int i = 0; i < 40; ++i) {
    const std::string at = root() + "/" + std::to_string(i);
    fs::create_directory(at);
    for (const char* name : {"/l", "/r"}) fs::create_directory_symlink("../" + std::to_string(i + 1), at + name);
  }
  fs::create_directory(root() + "/40");
  const auto listed = store_->list("0");
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::io_error) << listed.error().message();
}

TEST_F(FileStore, TemporaryFilesAreHiddenRefusedAndCleared) {
  write("g/.penstock-1-0.tmp", "left by a killed writer");
  write("g/k", "x");
  EXPECT_EQ(store_->list("").value(), (std::vector<std::string>{"g/k"}));
  EXPECT_EQ(store_->list_dir("g").value().size(), 1u);
  EXPECT_EQ(store_->set("g/.penstock-1-0.tmp", {}).error().code(), ErrorCode::invalid_argument);
  ASSERT_TRUE(store_->erase_prefix("g"));
  EXPECT_FALSE(fs::exists(root() + "/g"));
}

TEST_F(FileStore, DeepTreesAreListedAndRemoved) {
  std::string key = "d";
  for (int i = 0; i < 300; ++i) key += "/d";
  ASSERT_TRUE(store_->set(key, as_bytes("x")));
  EXPECT_EQ(store_->list("").value(), (std::vector<std::string>{key}));
  ASSERT_TRUE(store_->erase_prefix(""));
  EXPECT_TRUE(fs::is_empty(root()));
  EXPECT_EQ(open_object(*store_, std::string(300, 'n')).error().code(), ErrorCode::invalid_argument)
      << "longer than a name may be";
}

TEST_F(FileStore, LargeDirectoriesAreListed) {
  for (int i = 0; i < 20'000; ++i)
    ASSERT_GE(open_at(AT_FDCWD, (root() + "/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY).get(), 0);
  EXPECT_EQ(store_->list_dir("").value().size(), 20'000u);
  EXPECT_EQ(store_->list("").value().size(), 20'000u);
}

TEST_F(FileStore, KeysAreFoundWhenTheProcessAndTheStoreMove) {
  write("k", "x");
  const fs::path before = fs::current_path();
  fs::rename(root(), scratch_ / "moved");
  fs::current_path("/");
  Bytes out;
  EXPECT_TRUE(store_->get("k", out).value());
  fs::current_path(before);
}

TEST(Posix, ErrnoHasOneTable) {
  EXPECT_EQ(errno_error(ENOSPC, "p").code(), ErrorCode::no_space);
  EXPECT_EQ(errno_error(EDQUOT, "p").code(), ErrorCode::no_space);
  EXPECT_EQ(errno_error(EIO, {"a", "b"}).message(), "a/b: input/output error (errno 5)");
  EXPECT_EQ(errno_error(EROFS, "p").code(), ErrorCode::permission_denied);
  EXPECT_NE(errno_error(EMFILE, "p").hint().find("ulimit"), std::string::npos);
}

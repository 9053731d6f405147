// What killed writers leave is gone after the next write; what a living one writes stays.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "store/file/walk.hpp"
#include "store/store_kinds.hpp"

using namespace penstock;
using penstock::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> temporaries(const std::string& root) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (is_temporary_name(entry.path().filename().string())) found.push_back(entry.path().string());
  return found;
}

/// A process that writes large objects to "c/0", "c/1", ... until it is stopped.
class Writer {
 public:
  explicit Writer(const std::string& root) : pid_(::fork()) {
    if (pid_ != 0) return;
    const auto store = open_store(root, StoreMode::create).value();
    const std::string value(8 << 20, 'x');
    for (int i = 0;; ++i)
      if (!store->set("c/" + std::to_string(i % 4), as_bytes(value))) _exit(3);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { kill(SIGKILL); }
  /// Stops it while it has a temporary file.  Its name.
  std::string stop_within(const std::string& root) {
    for (int attempt = 0; attempt < 10'000; ++attempt) {
      ::kill(pid_, SIGSTOP);
      int status = 0;
      ::waitpid(pid_, &status, WUNTRACED);
      const auto found = fs::exists(root) ? temporaries(root) : std::vector<std::string>();
      if (found.size() == 1 && is_held(found[0])) return found[0];
      ::kill(pid_, SIGCONT);
      ::usleep(static_cast<useconds_t>(100 + attempt % 700));
    }
    return "";
  }
  /// Lets it go on, and says whether it still writes.
  [[nodiscard]] bool goes_on() const {
    ::kill(pid_, SIGCONT);
    ::usleep(200'000);
    int status = 0;
    return ::waitpid(pid_, &status, WNOHANG) == 0;
  }
  void kill(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
  }

 private:
  static bool is_held(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    const bool held = fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0;
    ::close(fd);
    return held;
  }
  pid_t pid_;
};

void leave(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << "left by a killed writer";
}

}  // namespace

TEST(Litter, OfKilledWritersIsGoneAfterTheNextWrite) {
  const TemporaryDirectory scratch;
  const std::string root = scratch / "store";
  for (int kill = 0; kill < 5; ++kill) {
    Writer writer(root);
    ASSERT_NE(writer.stop_within(root), "") << "the test shows nothing";
    writer.kill(SIGKILL);
    ASSERT_EQ(temporaries(root).size(), 1u);
    ASSERT_TRUE(open_store(root, StoreMode::read_write).value()->set("c/0", as_bytes("x")));
    EXPECT_EQ(temporaries(root), std::vector<std::string>());
  }
}

TEST(Litter, AtTheRootAndInDirectoriesThatStood) {
  const TemporaryDirectory scratch;
  const std::string root = scratch / "store";
  leave(root + "/.penstock-1-0.tmp");
  leave(root + "/a/b/.penstock-1-1.tmp");
  const auto store = open_store(root, StoreMode::read_write).value();
  ASSERT_TRUE(store->set("zarr.json", as_bytes("{}")));
  EXPECT_EQ(temporaries(root).size(), 1u);
  ASSERT_TRUE(store->set("a/b/k", as_bytes("x")));
  EXPECT_EQ(temporaries(root).size(), 0u);
  leave(root + "/a/b/.penstock-1-2.tmp");
  ASSERT_TRUE(store->set("a/b/k", as_bytes("x")));
  EXPECT_EQ(temporaries(root).size(), 1u) << "a handle looks once into a directory: writing is not slowed down";
}

TEST(Litter, OfALivingWriterStays) {
  const TemporaryDirectory scratch;
  const std::string root = scratch / "store";
  Writer writer(root);
  const std::string file = writer.stop_within(root);
  ASSERT_NE(file, "");
  leave(root + "/c/.penstock-1-0.tmp");
  const auto store = open_store(root, StoreMode::read_write).value();
  ASSERT_TRUE(store->set("c/beside", as_bytes("x")));
  EXPECT_EQ(temporaries(root), std::vector<std::string>{file});
  EXPECT_EQ(store->remove_litter("").value(), std::vector<std::string>());
  EXPECT_EQ(temporaries(root), std::vector<std::string>{file});
  EXPECT_TRUE(writer.goes_on());
}

TEST(Litter, AWriterThatMissesItsFileWritesItAgain) {
  const TemporaryDirectory scratch;
  const std::string root = scratch / "store";
  Writer writer(root);
  const std::string file = writer.stop_within(root);
  ASSERT_NE(file, "");
  fs::remove(file);
  EXPECT_TRUE(writer.goes_on());
}

TEST(Litter, IsListedWhenItIsRemovedOnDemand) {
  const TemporaryDirectory scratch;
  const std::string root = scratch / "store";
  leave(root + "/.penstock-1-0.tmp");
  leave(root + "/a/b/.penstock-7-12.tmp");
  leave(root + "/a/b/k");
  leave(root + "/a/other.tmp");
  EXPECT_EQ(open_store(root, StoreMode::read).value()->remove_litter("").error().code(), ErrorCode::permission_denied);
  const auto store = open_store(root, StoreMode::read_write).value();
  EXPECT_EQ(store->list("").value(), (std::vector<std::string>{"a/b/k", "a/other.tmp"}));
  Bytes out;
  EXPECT_FALSE(store->get("a/b/.penstock-7-12.tmp", out).value()) << "not an object";
  EXPECT_FALSE(store->exists("a/b/.penstock-7-12.tmp").value());
  EXPECT_EQ(store->remove_litter("a").value(), std::vector<std::string>{"a/b/.penstock-7-12.tmp"});
  EXPECT_EQ(store->remove_litter("").value(), std::vector<std::string>{".penstock-1-0.tmp"});
  EXPECT_EQ(store->list("").value().size(), 2u);
}

TEST(Litter, OfAnArchive) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "a.zip", hidden = scratch / ".a.zip.penstock.tmp";
  {
    const auto store = open_store(path, StoreMode::create).value();
    ASSERT_TRUE(store->set("k", as_bytes("x")));
    ASSERT_TRUE(store->set("c/.penstock-1-0.tmp", as_bytes("packed with its directory")));
    ASSERT_TRUE(store->flush());
  }
  EXPECT_EQ(open_store(path, StoreMode::read).value()->list("").value(), std::vector<std::string>{"k"});
  leave(hidden);
  const auto store = open_store(path, StoreMode::read_write).value();
  EXPECT_EQ(store->remove_litter("").value(), std::vector<std::string>{hidden});
  EXPECT_FALSE(fs::exists(hidden));
  const auto writer = open_store(path, StoreMode::read_write).value();
  ASSERT_TRUE(writer->set("k", as_bytes("y")));
  EXPECT_EQ(store->remove_litter("").value(), std::vector<std::string>()) << "a living writer's";
  ASSERT_TRUE(writer->flush());
}

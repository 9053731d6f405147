#include "store/file/directory_lock.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "store/locks.hpp"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
using Inode = std::pair<dev_t, ino_t>;

/// A directory that threads of this process hold against other processes: one lock of the system for all of them.
struct Held {
  FileDescriptor fd;
  LockUse use = LockUse::replace;
  std::size_t users = 0;
  bool closing = false;  // somebody waits until all have let go
  Clock::time_point since;

  /// Whether a thread may join.  Not for ever: other processes want their turn.
  [[nodiscard]] bool may_join(LockUse wanted) const {
    constexpr std::chrono::milliseconds kTurn{20};
    return !closing && (use == LockUse::change || wanted == LockUse::replace) && Clock::now() - since < kTurn;
  }
};

struct Directories {
  std::mutex mutex;
  std::map<Inode, Held> held;
};
Directories& directories() {
  static auto& instance = *new Directories;  // never destroyed: threads may hold locks when the process ends
  return instance;
}

class FileLock final : public ObjectLock {
 public:
  FileLock(std::unique_ptr<ObjectLock> own, Inode inode) : own_(std::move(own)), inode_(inode) {}
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// Takes over that the calling thread holds the directory.
  void hold() { holds_ = true; }
  ~FileLock() override {
    if (!holds_) return;
    Directories& all = directories();
    const std::scoped_lock lock(all.mutex);
    const auto it = all.held.find(inode_);
    if (--it->second.users != 0) return;
    ::flock(it->second.fd.get(), LOCK_UN);  // a forked child has the descriptor too; closing ours would not end it
    all.held.erase(it);
  }

 private:
  std::unique_ptr<ObjectLock> own_;  // let go of after the directory
  Inode inode_;
  bool holds_ = false;
};

/// Makes the calling thread one of those that hold the directory, if that is possible now.
Result<bool> try_hold(FileDescriptor& directory, Inode inode, FileName file, LockUse use) {
  Directories& all = directories();
  const std::scoped_lock lock(all.mutex);
  if (const auto it = all.held.find(inode); it != all.held.end()) {
    const bool joins = it->second.may_join(use);
    if (joins)
      it->second.users += 1;
    else
      it->second.closing = true;
    return joins;
  }
  if (::flock(directory.get(), (use == LockUse::change ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    const int why = errno;
    if (why == EWOULDBLOCK || why == EINTR) return false;
    if (!means_no_locks(why)) return errno_error(why, file);
  }
  all.held.emplace(inode, Held{std::move(directory), use, 1, false, Clock::now()});
  return true;
}

}  // namespace

Result<std::unique_ptr<ObjectLock>> lock_file(FileDescriptor directory, FileName file, const std::string& name,
                                              LockUse use, const std::function<Status()>& check) {
  constexpr std::chrono::microseconds kFirst{20}, kLongest{1000};
  struct stat info{};
  if (::fstat(directory.get(), &info) != 0) return errno_error(errno, file);
  const Inode inode{info.st_dev, info.st_ino};
  PENSTOCK_ASSIGN(
      auto own, lock_in_process(std::to_string(inode.first) + ":" + std::to_string(inode.second) + "/" + name, check));
  auto made = std::make_unique<FileLock>(std::move(own), inode);
  // Asked again and again: a wait in the system could not be cancelled when the other process is stopped.
  for (std::chrono::microseconds pause = kFirst;; pause = std::min(pause * 2, kLongest)) {
    PENSTOCK_ASSIGN(const bool held, try_hold(directory, inode, file, use));
    if (held) {
      made->hold();
      return std::unique_ptr<ObjectLock>(std::move(made));
    }
    PENSTOCK_TRY(check());
    std::this_thread::sleep_for(pause);
  }
}

bool means_no_locks(int why) {
  return why == ENOLCK || why == ENOTSUP || why == EOPNOTSUPP || why == EBADF || why == EINVAL || why == ENOSYS;
}

bool has_directory_locks(int directory) {
  if (::flock(directory, LOCK_EX | LOCK_NB) != 0) return !means_no_locks(errno);
  ::flock(directory, LOCK_UN);
  return true;
}

}  // namespace penstock

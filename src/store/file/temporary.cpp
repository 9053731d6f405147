#include "store/file/temporary.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "store/file/directory_lock.hpp"
#include "store/file/walk.hpp"
#include "store/key.hpp"

namespace penstock {
namespace {

constexpr std::size_t kMaxRemembered = 65'536;  // directories; beyond, they are looked into again
constexpr std::time_t kLeftBehindAfterSeconds = 24 * 60 * 60;

bool is_left_behind(int fd, const struct stat& info) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (!means_no_locks(errno)) return false;
  return std::time(nullptr) - info.st_mtim.tv_sec > kLeftBehindAfterSeconds;
}

/// 0: it was removed; else why it stays (EBUSY: its writer lives).
int remove_if_left_behind(int directory, const char* name) {
  const FileDescriptor fd = open_at(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  struct stat open{}, named{};
  if (!fd || ::fstat(fd.get(), &open) != 0) return errno;
  if (!S_ISREG(open.st_mode) || !is_left_behind(fd.get(), open)) return EBUSY;
  if (::fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (named.st_dev != open.st_dev || named.st_ino != open.st_ino) return EBUSY;  // it has got its own name meanwhile
  return ::unlinkat(directory, name, 0) == 0 ? 0 : errno;
}

}  // namespace

Temporary& Temporary::operator=(Temporary&& other) noexcept {
  std::swap(fd, other.fd);
  std::swap(directory_, other.directory_);
  std::swap(path_, other.path_);
  return *this;
}

Temporary::~Temporary() {
  if (!path_.empty()) ::unlinkat(directory_, path_.c_str(), 0);
}

int Temporary::rename_to(const Place& place) {
  const std::string name = place.path();
  if (::renameat(directory_, path_.c_str(), place.fd, name.c_str()) != 0) return errno;
  path_.clear();
  return 0;
}

Temporary open_temporary(const Place& place) {
  for (;;) {
    Temporary made;
    std::string path = place.parent + temporary_name();
    made.fd = open_at(place.fd, path.c_str(), O_WRONLY | O_CREAT | O_EXCL);
    // EEXIST: a process of another machine or container with our number, or a leftover of an earlier one.
    if (!made.fd && errno == EEXIST) continue;
    if (!made.fd) return made;
    // Another process may take the file for left behind before we have locked it.
    if (::flock(made.fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
    made.directory_ = place.fd;
    made.path_ = std::move(path);
    return made;
  }
}

Status remove_left_behind(int directory, FileName name, std::vector<std::string>* removed) {
  PENSTOCK_ASSIGN(const std::vector<std::string> temporaries, temporary_files(directory, name));
  for (const std::string& temporary : temporaries) {
    const int why = remove_if_left_behind(directory, temporary.c_str());
    if (why == 0 && removed != nullptr) removed->push_back(temporary);
    if (why != 0 && why != EBUSY && why != ENOENT) return errno_error(why, join_key(name.text(), temporary));
  }
  return {};
}

Result<std::vector<std::string>> remove_left_behind_below(Root root, const std::string& path) {
  std::vector<std::string> removed, pending{path};
  while (!pending.empty()) {
    const std::string at = std::move(pending.back());
    pending.pop_back();
    const FileDescriptor directory =
        open_below(root, at.empty() ? "." : at.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!directory && (errno == ENOENT || errno == ENOTDIR)) continue;
    if (!directory) return error_below(errno, root, at);
    std::vector<std::string> here;
    PENSTOCK_TRY(remove_left_behind(directory.get(), {root.name, at}, &here));
    for (const std::string& name : here) removed.push_back(join_key(at, name));
    PENSTOCK_ASSIGN(const std::vector<StoreEntry> entries, list_directory(root, at));
    for (const StoreEntry& entry : entries)
      if (entry.is_prefix) pending.push_back(join_key(at, entry.name));
  }
  return removed;
}

bool Cleared::is_first(std::string_view directory) {
  const std::scoped_lock lock(mutex_);
  if (directories_.find(directory) != directories_.end()) return false;
  if (directories_.size() >= kMaxRemembered) directories_.clear();
  directories_.emplace(directory);
  return true;
}

void Cleared::made(std::string_view directory) { (void)is_first(directory); }

void Cleared::before_writing(Root root, std::string_view key) {
  const std::string_view directory = directory_of(key);
  if (!is_first(directory)) return;
  const std::string path(directory.empty() ? "." : directory);
  const FileDescriptor fd = open_below(root, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd) (void)remove_left_behind(fd.get(), {root.name, directory}, nullptr);
}

}  // namespace penstock

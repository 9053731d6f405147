#include "tracto/file/whole_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "store/file/directory_lock.hpp"

namespace penstock::tracto {
namespace {

namespace fs = std::filesystem;

Error taken(const std::string& path, const std::string& beside, bool has_locks) {
  if (has_locks)
    return Error(ErrorCode::already_exists, path + ": is being written by another process or thread")
        .set_hint("wait until it has finished, or choose another name.");
  return Error(ErrorCode::already_exists, beside + ": somebody writes there, or was killed")
      .set_hint("the file system has no locks to tell which; if nobody writes, remove it.");
}

Status remove_all_in(const std::string& folder) {
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    fs::remove_all(entry->path(), code);
    if (code) break;
  }
  return code ? Status(errno_error(code.value(), folder)) : Status();
}

bool is_still(int descriptor, const std::string& path) {
  struct stat open{}, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

/// Makes the folder `beside` if it is not there, and locks it.
Result<FileDescriptor> lock_folder(const std::string& path, const std::string& beside) {
  for (;;) {
    const bool is_new = ::mkdir(beside.c_str(), 0777) == 0;
    if (!is_new && errno != EEXIST) return errno_error(errno, beside);
    FileDescriptor folder(::open(beside.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder && errno == ENOENT) continue;  // the writer before has just finished
    if (!folder) return errno_error(errno, beside);
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
      const bool has_locks = !means_no_locks(errno);
      if (has_locks || !is_new) return taken(path, beside, has_locks);
    }
    if (is_still(folder.get(), beside)) return folder;
  }
}

}  // namespace

Result<std::unique_ptr<WholeFolder>> WholeFolder::begin(const std::string& path) {
  std::unique_ptr<WholeFolder> out(new WholeFolder);
  std::error_code code;
  const fs::path there = fs::canonical(path, code);  // a link leads to where the folder is
  const fs::path place = code ? fs::path(path) : there;
  out->path_ = place.string();
  const std::string beside = (place.parent_path() / (".penstock-new-" + place.filename().string())).string();
  PENSTOCK_ASSIGN(out->lock_, lock_folder(path, beside));
  out->beside_ = beside;  // from now on it is ours to be removed
  PENSTOCK_TRY(remove_all_in(beside));
  PENSTOCK_ASSIGN(out->store_, open_store(beside + "/new", StoreMode::create));
  return out;
}

WholeFolder::~WholeFolder() {
  store_.reset();
  std::error_code code;
  if (!beside_.empty()) fs::remove_all(beside_, code);
}

Status WholeFolder::exchange() {
  const std::string made = beside_ + "/new", old = beside_ + "/old";
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) return {};
  if (errno != ENOENT && errno != EINVAL && errno != ENOSYS) return errno_error(errno, path_);
  const bool moved = ::rename(path_.c_str(), old.c_str()) == 0;
  if (!moved && errno != ENOENT) return errno_error(errno, path_);
  if (::rename(made.c_str(), path_.c_str()) == 0) return {};
  const int why = errno;
  if (moved) (void)::rename(old.c_str(), path_.c_str());
  return errno_error(why, path_);
}

Status WholeFolder::commit() {
  store_.reset();
  PENSTOCK_TRY(exchange());
  std::error_code code;
  fs::remove_all(beside_, code);  // the old one; what stays is removed by the next writer
  return {};
}

}  // namespace penstock::tracto

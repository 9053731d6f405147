#include "oct/file/run_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "store/file/directory_lock.hpp"

namespace penstock::oct {
namespace {

/// Whether the file of that name is the one that is open: the run before may have taken it away meanwhile.
bool is_still(int file, const std::string& path) {
  struct stat open{}, named{};
  return ::fstat(file, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace

Result<RunLock> RunLock::take(const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return errno_error(code.value(), folder);
  const std::string path = folder + "/reconstruct.lock";
  for (;;) {
    FileDescriptor file = open_at(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW);
    if (!file) return errno_error(errno, path);
    const bool held = uninterrupted([&] { return ::flock(file.get(), LOCK_EX | LOCK_NB); }) == 0;
    if (!held && !means_no_locks(errno))
      return Error(ErrorCode::already_exists, folder + ": another reconstruction is under way in it")
          .set_hint("Wait for it, or give another folder.");
    if (is_still(file.get(), path)) return RunLock(path, std::move(file));
  }
}

RunLock::~RunLock() {
  if (file_) ::unlink(path_.c_str());
}

}  // namespace penstock::oct

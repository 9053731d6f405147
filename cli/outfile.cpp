#include "cli/outfile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

Error system_error(const std::string& path, int number) {
  const ErrorCode code = number == ENOENT || number == ENOTDIR                    ? ErrorCode::not_found
                         : number == EACCES || number == EPERM || number == EROFS ? ErrorCode::permission_denied
                         : number == ENOSPC || number == EDQUOT                   ? ErrorCode::no_space
                         : number == EISDIR                                       ? ErrorCode::is_directory
                                                                                  : ErrorCode::io_error;
  return Error(code, fmt::format("{}: {} (errno {})", path, std::strerror(number), number)).set_errno(number);
}

Error exists(const std::string& path) {
  return Error(ErrorCode::already_exists, fmt::format("{}: already exists", path)).set_hint("--force replaces it.");
}

std::string directory_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// Removes the temporary files for `path` that nobody holds.  What cannot be removed is left: names never clash.
void remove_left_behind(const std::string& path) {
  const std::string begin = fs::path(path).filename().string() + ".penstock-";
  std::error_code failed;
  for (fs::directory_iterator it(directory_of(path), failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(".part")) continue;
    const int fd = ::open(it->path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(it->path().c_str());
    ::close(fd);
  }
}

/// Gives a file a name that is free.  0, or an errno: EEXIST when something has appeared there.
int rename_to_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // The file system does not know this form of rename.
  if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()) == 0 ? 0 : errno;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) return errno;
  // Nor links: a file that appears between these two calls is replaced.
  if (::access(to.c_str(), F_OK) == 0) return EEXIST;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

/// 0, or an errno.  File systems that cannot force a directory say EINVAL.
int force_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int why = ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  return why;
}

}  // namespace

Result<OutFile> OutFile::create(const std::string& path, bool replace) {
  if (!replace && access(path.c_str(), F_OK) == 0) return exists(path);
  remove_left_behind(path);
  for (int n = 0;; ++n) {
    std::string temporary = fmt::format("{}.penstock-{}-{}.part", path, getpid(), n);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;  // one that lives, with our number: of another container
    if (fd < 0) return system_error(path, errno);
    (void)::flock(fd, LOCK_EX | LOCK_NB);  // without locks nobody takes it for left behind
    return OutFile(path, std::move(temporary), fd, replace);
  }
}

OutFile::OutFile(OutFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), fd_(other.fd_), replace_(other.replace_) {
  other.fd_ = -1;
}

OutFile::~OutFile() {
  if (fd_ < 0) return;
  unlink(temporary_.c_str());
  close(fd_);
}

Status OutFile::commit() {
  const int fd = std::exchange(fd_, -1);
  int why = fsync(fd) == 0 ? 0 : errno;
  // Closed by its last descriptor only when it has its name: until then it is locked.
  const int again = why == 0 ? ::fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
  if (why == 0 && (again < 0 || ::close(again) != 0)) why = errno;
  if (why == 0 && replace_) why = ::rename(temporary_.c_str(), path_.c_str()) == 0 ? 0 : errno;
  if (why == 0 && !replace_) why = rename_to_new(temporary_, path_);
  if (why != 0) unlink(temporary_.c_str());
  close(fd);
  if (why == EEXIST) return exists(path_);
  if (why == 0) why = force_directory(directory_of(path_));
  if (why != 0) return system_error(path_, why);
  return {};
}

}  // namespace penstock::cli

#include "cli/kit/outfile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace penstock::cli {
namespace {

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

}  // namespace

Result<OutFile> OutFile::create(const std::string& path, bool replace) {
  if (!replace && access(path.c_str(), F_OK) == 0) return exists(path);
  std::string temporary = fmt::format("{}.{}.part", path, getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return system_error(path, errno);
  return OutFile(path, std::move(temporary), fd, replace);
}

OutFile::OutFile(OutFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), fd_(other.fd_), replace_(other.replace_) {
  other.fd_ = -1;
}

OutFile::~OutFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

Status OutFile::commit() {
  const int fd = std::exchange(fd_, -1);
  const bool closed = fsync(fd) == 0;
  int why = closed ? 0 : errno;
  if (close(fd) != 0 && why == 0) why = errno;
  // link fails where something has appeared meanwhile; rename would replace it
  if (why == 0 && (replace_ ? rename(temporary_.c_str(), path_.c_str()) : link(temporary_.c_str(), path_.c_str())) != 0)
    why = errno;
  if (why != 0 || !replace_) unlink(temporary_.c_str());
  if (why == EEXIST) return exists(path_);
  if (why != 0) return system_error(path_, why);
  return {};
}

}  // namespace penstock::cli

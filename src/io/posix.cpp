#include "io/posix.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>
#include <vector>

namespace penstock {
namespace {

// Linux moves at most 0x7ffff000 bytes in one call; stay on a round figure below.
constexpr std::size_t kMaxPerCall = std::size_t{1} << 30;

ErrorCode code_of(int errno_value) {
  switch (errno_value) {
    case ENOENT: return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::permission_denied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ErrorCode::no_space;
    case EISDIR: return ErrorCode::is_directory;
    case EEXIST:
    case ENOTEMPTY: return ErrorCode::already_exists;
    case ENOMEM: return ErrorCode::out_of_memory;
    case ENAMETOOLONG: return ErrorCode::invalid_argument;
    default: return ErrorCode::io_error;
  }
}

std::string hint_of(int errno_value) {
  switch (errno_value) {
    case EMFILE: return "raise the limit of open files: ulimit -n";
    case EFBIG: return "the file system, or ulimit -f, forbids files of this size";
    case ENOTDIR: return "a file stands where a directory is needed";
    case EROFS: return "the file system is mounted for reading only";
    default: return {};
  }
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int FileDescriptor::close() {
  // After EINTR Linux has closed the descriptor: a second close could hit another thread's new one.
  if (::close(release()) == 0 || errno == EINTR) return 0;
  return errno;
}

std::string FileName::text() const {
  std::string text(directory);
  if (!directory.empty() && !name.empty()) text += '/';
  return text += name;
}

Error errno_error(int errno_value, FileName file) {
  std::string text = std::generic_category().message(errno_value);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  Error error(code_of(errno_value), file.text() + ": " + text + " (errno " + std::to_string(errno_value) + ")");
  error.set_errno(errno_value).set_hint(hint_of(errno_value));
  return error;
}

FileDescriptor open_at(int directory, const char* path, int flags, unsigned mode) {
  int fd = -1;
  do fd = ::openat(directory, path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return FileDescriptor(fd);
}

Status read_at(int fd, std::uint64_t offset_bytes, ByteSpan into, FileName file) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = ::pread(fd, into.data() + done, std::min(into.size() - done, kMaxPerCall),
                              static_cast<off_t>(offset_bytes + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(errno, file);
    if (n == 0)
      return Error(ErrorCode::corrupt_data,
                   file.text() + ": the file ends at byte " + std::to_string(offset_bytes + done) + ", wanted " +
                       std::to_string(into.size()) + " bytes from byte " + std::to_string(offset_bytes));
    done += static_cast<std::size_t>(n);
  }
  return {};
}

Status write_at(int fd, std::uint64_t offset_bytes, std::span<const ByteView> parts, FileName file) {
  constexpr std::size_t kMaxParts = 1024;  // IOV_MAX of Linux
  std::size_t part = 0, done_in_part = 0;
  std::vector<iovec> vectors;
  for (;;) {
    vectors.clear();
    std::size_t bytes = 0;
    for (std::size_t i = part, skip = done_in_part; i < parts.size() && vectors.size() < kMaxParts; ++i, skip = 0) {
      const ByteView rest = parts[i].subspan(skip).first(std::min(parts[i].size() - skip, kMaxPerCall - bytes));
      // The system does not write through the pointer; the struct is shared with reading.
      if (!rest.empty()) vectors.push_back({const_cast<std::byte*>(rest.data()), rest.size()});
      bytes += rest.size();
      if (bytes == kMaxPerCall) break;
    }
    if (vectors.empty()) return {};
    const ssize_t n = ::pwritev(fd, vectors.data(), static_cast<int>(vectors.size()), static_cast<off_t>(offset_bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return errno_error(n < 0 ? errno : ENOSPC, file);
    offset_bytes += static_cast<std::uint64_t>(n);
    done_in_part += static_cast<std::size_t>(n);
    while (part < parts.size() && done_in_part >= parts[part].size()) done_in_part -= parts[part++].size();
  }
}

}  // namespace penstock

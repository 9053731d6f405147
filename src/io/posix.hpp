// Files by their descriptor: the one place where system calls are retried and errno becomes an Error.
#pragma once
#include <cerrno>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "penstock/bytes.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// An open file descriptor, closed with its owner.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  /// Closes and tells whether the system lost what was written before.  Returns 0 or an errno.
  [[nodiscard]] int close();

 private:
  int fd_ = -1;
};

/// A file's name in two parts, put together only when there is an error to tell.
struct FileName {
  std::string_view directory;
  std::string_view name;
  FileName(std::string_view all) : name(all) {}    // NOLINT(google-explicit-constructor)
  FileName(const std::string& all) : name(all) {}  // NOLINT(google-explicit-constructor)
  FileName(const char* all) : name(all) {}         // NOLINT(google-explicit-constructor)
  FileName(std::string_view in, std::string_view part) : directory(in), name(part) {}
  [[nodiscard]] std::string text() const;
};

/// "PATH: permission denied (errno 13)", with the matching code.
Error errno_error(int errno_value, FileName file);

/// openat that is retried when a signal interrupts it; always close-on-exec.  Invalid with errno set on failure.
FileDescriptor open_at(int directory, const char* path, int flags, unsigned mode = 0666);

/// Fills `into` from `offset_bytes`.  Errors: corrupt_data when the file ends before, naming how long it is.
Status read_at(int fd, std::uint64_t offset_bytes, ByteSpan into, FileName file);
/// Writes all of `parts`, one after the other, from `offset_bytes` on.  Errors: no_space, io_error.
Status write_at(int fd, std::uint64_t offset_bytes, std::span<const ByteView> parts, FileName file);

/// What a call of the system gives when no signal interrupts it: asked again as long as one does.
template <class SystemCall>
int uninterrupted(const SystemCall& call) {
  int result = 0;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace penstock

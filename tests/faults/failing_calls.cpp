#include "faults/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <string_view>

namespace penstock::test {
namespace {

std::atomic<bool> failing{false}, interrupting{false}, failed{false};
std::atomic<Call> failing_call{Call::create};
std::atomic<int> calls_left{0}, reason{0};
std::atomic<unsigned> interruptible{0};
std::array<std::atomic<bool>, 4096> being_written{};  // file descriptors

/// Whether this call is the one to fail; errno is set.
bool fails(Call call) {
  if (!failing || failing_call != call || calls_left-- != 0) return false;
  failed = true;
  errno = reason;
  return true;
}

bool is_interrupted() {
  if (!interrupting || interruptible++ % 2 == 1) return false;
  failed = true;
  errno = EINTR;
  return true;
}

bool is_being_written(int fd) {
  return fd >= 0 && static_cast<std::size_t>(fd) < being_written.size() && being_written[static_cast<std::size_t>(fd)];
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

void fail_call(Call call, int skip, int why) {
  stop_failing();
  failing_call = call;
  calls_left = skip;
  reason = why;
  failing = true;
}

void interrupt_calls() {
  stop_failing();
  interrupting = true;
}

bool stop_failing() {
  failing = interrupting = false;
  return failed.exchange(false);
}

}  // namespace penstock::test

using namespace penstock::test;

extern "C" {

int openat(int directory, const char* path, int flags, ...) {
  static auto* const real = next<int(int, const char*, int, ...)>("openat");
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  const bool makes = (flags & O_EXCL) != 0 && std::string_view(path).find(".penstock-") != std::string_view::npos;
  if (is_interrupted() || (makes && fails(Call::create))) return -1;
  const int fd = real(directory, path, flags, mode);
  if (makes && fd >= 0 && static_cast<std::size_t>(fd) < being_written.size())
    being_written[static_cast<std::size_t>(fd)] = true;
  return fd;
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  static auto* const real = next<decltype(pwritev)>("pwritev");
  if (is_interrupted() || (is_being_written(fd) && fails(Call::write)) || fails(Call::any_write)) return -1;
  if (!interrupting || count == 0 || parts[0].iov_len < 2) return real(fd, parts, count, offset);
  const iovec half{parts[0].iov_base, parts[0].iov_len / 2};
  return real(fd, &half, 1, offset);
}

ssize_t pread(int fd, void* to, size_t bytes, off_t offset) {
  static auto* const real = next<decltype(pread)>("pread");
  if (is_interrupted() || fails(Call::read)) return -1;
  return real(fd, to, interrupting && bytes > 1 ? bytes / 2 : bytes, offset);
}

int close(int fd) {
  static auto* const real = next<decltype(close)>("close");
  const bool written = is_being_written(fd);
  if (written) being_written[static_cast<std::size_t>(fd)] = false;
  const int closed = real(fd);  // also where it fails: Linux lets go of the descriptor in any case
  return is_interrupted() || (written && fails(Call::close)) ? -1 : closed;
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  static auto* const real = next<int(int, const char*, int, const char*)>("renameat");
  return fails(Call::rename) ? -1 : real(from_directory, from, to_directory, to);
}

int ftruncate(int fd, off_t bytes) noexcept {
  static auto* const real = next<int(int, off_t)>("ftruncate");
  return is_interrupted() ? -1 : real(fd, bytes);
}

int fdatasync(int fd) {
  static auto* const real = next<int(int)>("fdatasync");
  return is_interrupted() ? -1 : real(fd);
}

int fsync(int fd) {
  static auto* const real = next<int(int)>("fsync");
  return is_interrupted() ? -1 : real(fd);
}

int flock(int fd, int operation) noexcept {
  static auto* const real = next<int(int, int)>("flock");
  return (operation & LOCK_UN) == 0 && is_interrupted() ? -1 : real(fd, operation);
}

#ifndef PENSTOCK_TEST_SANITIZED  // sanitizers bring it themselves
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  static auto* const real = next<void*(size_t, size_t)>("aligned_alloc");
  return fails(Call::memory) ? nullptr : real(alignment, bytes);
}

void* __libc_malloc(size_t bytes) noexcept;  // next() itself allocates
void* malloc(size_t bytes) noexcept { return fails(Call::allocation) ? nullptr : __libc_malloc(bytes); }
#endif
}

// For LD_PRELOAD: SIGKILL before the n-th change of the file system (KILL_AT=n); from the n-th on the disk is full
// (FULL_AT=n); how many there were goes to a file (COUNT_TO=path); NO_EXCHANGE=1: a file system that
// cannot exchange directories.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> changes{0};

long wanted(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

/// Counts what changes the file system.
template <class Change>
auto counted(const Change& change) {
  static const long at = wanted("KILL_AT");
  if (++changes == at) ::raise(SIGKILL);
  return change();
}

/// The same of what needs room on the disk.
template <class Change>
int counted_room(const Change& change) {
  static const long full = wanted("FULL_AT");
  if (full != 0 && changes.load() + 1 >= full) {
    ++changes;
    errno = ENOSPC;
    return -1;
  }
  return counted(change);
}

[[gnu::destructor]] void tell_count() {
  const char* path = std::getenv("COUNT_TO");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return;
  std::fprintf(file, "%ld", changes.load());
  std::fclose(file);
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int renameat(int from, const char* a, int to, const char* b) noexcept {
  return counted([&] { return next<int(int, const char*, int, const char*)>("renameat")(from, a, to, b); });
}
int renameat2(int from, const char* a, int to, const char* b, unsigned flags) noexcept {
  if (wanted("NO_EXCHANGE") != 0) {
    errno = EINVAL;
    return -1;
  }
  return counted(
      [&] { return next<int(int, const char*, int, const char*, unsigned)>("renameat2")(from, a, to, b, flags); });
}
int rename(const char* a, const char* b) noexcept {
  return counted([&] { return next<int(const char*, const char*)>("rename")(a, b); });
}
int unlinkat(int at, const char* name, int flags) noexcept {
  return counted([&] { return next<int(int, const char*, int)>("unlinkat")(at, name, flags); });
}
int mkdirat(int at, const char* name, mode_t mode) noexcept {
  return counted_room([&] { return next<int(int, const char*, mode_t)>("mkdirat")(at, name, mode); });
}
int mkdir(const char* name, mode_t mode) noexcept {
  return counted_room([&] { return next<int(const char*, mode_t)>("mkdir")(name, mode); });
}
int openat(int at, const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const auto open = [&] { return next<int(int, const char*, int, ...)>("openat")(at, name, flags, mode); };
  return (flags & O_CREAT) != 0 ? counted_room(open) : open();
}

}  // extern "C"

// To be loaded before a program (LD_PRELOAD): writes what it does to files, in order, to the file RECORD names.
// One JSON text a line: [operation, path, ...].  Operations run one at a time, so that the order is the one that was.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::mutex mutex;

void put(const std::string& line) {
  static const int file = [] {
    const char* name = std::getenv("RECORD");
    return name == nullptr ? -1
                           : static_cast<int>(next<int(const char*, int, ...)>("open")(
                                 name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }();
  if (file < 0) return;
  const std::string all = line + "\n";
  if (next<ssize_t(int, const void*, std::size_t)>("write")(file, all.data(), all.size()) < 0) std::abort();
}

std::string link_of(const std::string& link) {
  char text[4096];
  const ssize_t n = ::readlink(link.c_str(), text, sizeof text);
  return n < 0 ? "" : std::string(text, static_cast<std::size_t>(n));
}

/// An absolute path; tests use names without quotes and control characters.
std::string path_at(int directory, const char* path) {
  if (path[0] == '/') return path;
  const std::string base =
      directory == AT_FDCWD ? link_of("/proc/self/cwd") : link_of("/proc/self/fd/" + std::to_string(directory));
  return base + "/" + path;
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

/// Files go by their inode: they get other names.
std::string inode_of(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? std::to_string(info.st_ino) : "";
}

void put_bytes(int fd, off_t offset, const iovec* parts, int count, ssize_t written) {
  const std::string inode = inode_of(fd);
  if (inode.empty() || written < 0) return;
  std::string hex;
  constexpr char digits[] = "0123456789abcdef";
  for (int i = 0; i < count; ++i)
    for (std::size_t k = 0; k < parts[i].iov_len && hex.size() < 2 * static_cast<std::size_t>(written); ++k) {
      const auto byte = static_cast<const unsigned char*>(parts[i].iov_base)[k];
      hex += digits[byte >> 4];
      hex += digits[byte & 15];
    }
  put("[\"write\"," + inode + "," + std::to_string(offset) + "," + quoted(hex) + "]");
}

int opened(int fd, int directory, const char* path, int flags) {
  if (fd >= 0 && (flags & O_CREAT) != 0 && !inode_of(fd).empty())
    put("[\"create\"," + quoted(path_at(directory, path)) + "," + inode_of(fd) + "]");
  return fd;
}

int forced(const char* how, int fd, int result) {
  if (result == 0) {
    const std::string inode = inode_of(fd);
    put("[" + quoted(how) + "," + (inode.empty() ? quoted(link_of("/proc/self/fd/" + std::to_string(fd))) : inode) +
        "]");
  }
  return result;
}

}  // namespace

extern "C" {

#define OPENAT(name)                                                                                                   \
  int name(int directory, const char* path, int flags, ...) {                                                          \
    va_list more;                                                                                                      \
    va_start(more, flags);                                                                                             \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;                               \
    va_end(more);                                                                                                      \
    const std::scoped_lock lock(mutex);                                                                                \
    return opened(next<int(int, const char*, int, ...)>(#name)(directory, path, flags, mode), directory, path, flags); \
  }
OPENAT(openat)
OPENAT(openat64)
#undef OPENAT

#define OPEN(name)                                                                                    \
  int name(const char* path, int flags, ...) {                                                        \
    va_list more;                                                                                     \
    va_start(more, flags);                                                                            \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;              \
    va_end(more);                                                                                     \
    const std::scoped_lock lock(mutex);                                                               \
    return opened(next<int(const char*, int, ...)>(#name)(path, flags, mode), AT_FDCWD, path, flags); \
  }
OPEN(open)
OPEN(open64)
#undef OPEN

#define PWRITEV(name)                                                                                      \
  ssize_t name(int fd, const iovec* parts, int count, off_t offset) {                                      \
    const std::scoped_lock lock(mutex);                                                                    \
    const ssize_t written = next<ssize_t(int, const iovec*, int, off_t)>(#name)(fd, parts, count, offset); \
    put_bytes(fd, offset, parts, count, written);                                                          \
    return written;                                                                                        \
  }
PWRITEV(pwritev)
PWRITEV(pwritev64)
#undef PWRITEV

ssize_t write(int fd, const void* data, std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  const off_t at = inode_of(fd).empty() ? 0 : ::lseek(fd, 0, SEEK_CUR);
  const ssize_t written = next<ssize_t(int, const void*, std::size_t)>("write")(fd, data, bytes);
  const iovec part{const_cast<void*>(data), bytes};
  put_bytes(fd, at, &part, 1, written);
  return written;
}

int ftruncate(int fd, off_t bytes) {
  const std::scoped_lock lock(mutex);
  const int result = next<int(int, off_t)>("ftruncate")(fd, bytes);
  if (result == 0) put("[\"truncate\"," + inode_of(fd) + "," + std::to_string(bytes) + "]");
  return result;
}

int fsync(int fd) {
  const std::scoped_lock lock(mutex);
  return forced("force", fd, next<int(int)>("fsync")(fd));
}
int fdatasync(int fd) {
  const std::scoped_lock lock(mutex);
  return forced("force", fd, next<int(int)>("fdatasync")(fd));
}
int syncfs(int fd) {
  const std::scoped_lock lock(mutex);
  return forced("force all", fd, next<int(int)>("syncfs")(fd));
}

int renameat(int from, const char* old_path, int to, const char* new_path) {
  const std::scoped_lock lock(mutex);
  const std::string a = path_at(from, old_path), b = path_at(to, new_path);
  const int result = next<int(int, const char*, int, const char*)>("renameat")(from, old_path, to, new_path);
  if (result == 0) put("[\"rename\"," + quoted(a) + "," + quoted(b) + "]");
  return result;
}
int renameat2(int from, const char* old_path, int to, const char* new_path, unsigned flags) {
  const std::scoped_lock lock(mutex);
  const std::string a = path_at(from, old_path), b = path_at(to, new_path);
  const int result =
      next<int(int, const char*, int, const char*, unsigned)>("renameat2")(from, old_path, to, new_path, flags);
  const char* what = (flags & RENAME_EXCHANGE) != 0 ? "[\"exchange\"," : "[\"rename\",";
  if (result == 0) put(what + quoted(a) + "," + quoted(b) + "]");
  return result;
}
int rename(const char* old_path, const char* new_path) { return renameat(AT_FDCWD, old_path, AT_FDCWD, new_path); }

int unlinkat(int directory, const char* path, int flags) {
  const std::scoped_lock lock(mutex);
  const int result = next<int(int, const char*, int)>("unlinkat")(directory, path, flags);
  if (result == 0) put("[\"unlink\"," + quoted(path_at(directory, path)) + "]");
  return result;
}
int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) {
  const std::scoped_lock lock(mutex);
  const std::string whole = path_at(AT_FDCWD, path);
  const int result = next<int(const char*)>("remove")(path);
  if (result == 0) put("[\"unlink\"," + quoted(whole) + "]");
  return result;
}

int mkdirat(int directory, const char* path, mode_t mode) {
  const std::scoped_lock lock(mutex);
  const int result = next<int(int, const char*, mode_t)>("mkdirat")(directory, path, mode);
  if (result == 0) put("[\"mkdir\"," + quoted(path_at(directory, path)) + "]");
  return result;
}
int mkdir(const char* path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
}

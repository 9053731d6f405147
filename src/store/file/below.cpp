#include "store/file/below.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "store/key.hpp"

namespace penstock {
namespace {

FileDescriptor open_beneath(int directory, const char* path, int flags, unsigned mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  long fd = -1;
  // EAGAIN: somebody renamed a directory while ".." was followed in it.
  do fd = ::syscall(SYS_openat2, directory, path, &how, sizeof how);
  while (fd < 0 && (errno == EINTR || errno == EAGAIN));
  return FileDescriptor(static_cast<int>(fd));
}

}  // namespace

FileDescriptor open_below(Root root, const char* path, int flags, unsigned mode) {
  if (root.links == Links::inside) return open_beneath(root.fd, path, flags, mode);
  return open_at(root.fd, path, flags, mode);
}

Place place_of(Root root, std::string_view key) {
  Place place;
  const std::size_t name = key.rfind('/') + 1;  // npos + 1 = 0
  place.name = key.substr(name);
  if (root.links == Links::follow || name == 0) {
    place.fd = root.fd;
    place.parent = key.substr(0, name);
    return place;
  }
  place.opened = open_below(root, std::string(key.substr(0, name)).c_str(), O_PATH | O_DIRECTORY);
  place.fd = place.opened.get();
  return place;
}

Error error_below(int errno_value, Root root, std::string_view path) {
  if (root.links != Links::inside || errno_value != EXDEV) return errno_error(errno_value, {root.name, path});
  Error error(ErrorCode::permission_denied,
              join_key(root.name, path) + ": a symbolic link leads out of the store, and links = inside");
  error.set_errno(errno_value).set_hint("links = follow takes every link; do so only with a store that you trust.");
  return error;
}

Status check_links(Root root) {
  if (root.links == Links::follow || open_below(root, ".", O_PATH | O_DIRECTORY)) return {};
  if (errno != ENOSYS && errno != EPERM) return error_below(errno, root, "");
  return Error(ErrorCode::unsupported, std::string(root.name) +
                                           ": links = inside needs the system call openat2 (Linux 5.6), which this "
                                           "system does not have or does not allow");
}

}  // namespace penstock

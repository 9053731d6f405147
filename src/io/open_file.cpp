#include "io/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "io/per_process.hpp"

namespace penstock::io {
namespace {

constexpr std::uint64_t kUsualAlign = 4096;

struct NetworkKind {
  std::uint32_t magic;
  std::string_view name;
};
// f_type of statfs(2).  FUSE may be local or not; the kernel does not say, so it counts as a network.
constexpr std::array kNetworks{
    NetworkKind{0x6969, "NFS"},        NetworkKind{0xFF534D42, "CIFS"},    NetworkKind{0xFE534D42, "SMB"},
    NetworkKind{0x0BD00BD0, "Lustre"}, NetworkKind{0x65735546, "FUSE"},    NetworkKind{0x01021997, "9p"},
    NetworkKind{0x00C36400, "Ceph"},   NetworkKind{0x47504653, "GPFS"},    NetworkKind{0x19830326, "BeeGFS"},
    NetworkKind{0x5346414F, "AFS"},    NetworkKind{0x6B414653, "kAFS"},    NetworkKind{0x013661, "GFS2"},
    NetworkKind{0x7461636F, "OCFS2"},  NetworkKind{0x20030528, "OrangeFS"}};

std::string network_of(int fd) {
  struct statfs info{};
  if (uninterrupted([&] { return ::fstatfs(fd, &info); }) != 0) return {};
  for (const NetworkKind& kind : kNetworks)
    if (kind.magic == static_cast<std::uint32_t>(info.f_type)) return std::string(kind.name);
  return {};
}

/// The mode of open(2) for flags as of fopen; -1: no such flags.
int flags_of(std::string_view text) {
  char kind = 0;
  bool plus = false, bytes = false;
  for (const char c : text) {
    if (c == '+' && !plus && kind != 0)
      plus = true;
    else if (c == 'b' && !bytes && kind != 0)
      bytes = true;
    else if ((c == 'r' || c == 'w' || c == 'a') && kind == 0)
      kind = c;
    else
      return -1;
  }
  switch (kind) {
    case 'r': return plus ? O_RDWR : O_RDONLY;
    case 'w': return (plus ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC;
    case 'a': return (plus ? O_RDWR : O_WRONLY) | O_CREAT;
    default: return -1;
  }
}

/// Whether a file or disk: what has bytes at offsets.
Result<std::shared_ptr<OpenFile>> made(FileDescriptor fd, std::string path, bool append, const FileOptions& options) {
  struct stat info{};
  if (uninterrupted([&] { return ::fstat(fd.get(), &info); }) != 0) return errno_error(errno, path);
  if (S_ISDIR(info.st_mode)) return errno_error(EISDIR, path);
  if (!S_ISREG(info.st_mode) && !S_ISBLK(info.st_mode))
    return Error(ErrorCode::invalid_argument, path + ": not a regular file; pipes and devices have no offsets");
  auto file = std::make_shared<OpenFile>();
  file->flags = uninterrupted([&] { return ::fcntl(fd.get(), F_GETFL); });
  file->network = network_of(fd.get());
  if (append) file->append_from = static_cast<std::uint64_t>(info.st_size);
  file->path = std::move(path);
  file->options = options;
  file->fd = std::move(fd);
  return file;
}

/// Where the kernel says what O_DIRECT needs (Linux 6.1 and later).
bool ask_alignment(DirectFacts& facts) {
#ifdef STATX_DIOALIGN
  struct statx info{};
  if (::statx(facts.fd.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) != 0) return false;
  if ((info.stx_mask & STATX_DIOALIGN) == 0 || info.stx_dio_offset_align == 0) return false;
  facts.offset_align = info.stx_dio_offset_align;
  facts.memory_align = std::max<std::uint64_t>(info.stx_dio_mem_align, 1);
  facts.why = "statx: offsets at " + std::to_string(facts.offset_align) + " bytes";
  return true;
#else
  (void)facts;
  return false;
#endif
}

/// Else whether a read at the usual alignment works.  An empty file shows it too: the arguments are looked at first.
bool try_reading(DirectFacts& facts) {
  void* const memory = std::aligned_alloc(kUsualAlign, kUsualAlign);
  if (memory == nullptr) return false;
  ssize_t got = -1;
  do got = ::pread(facts.fd.get(), memory, kUsualAlign, 0);
  while (got < 0 && errno == EINTR);
  const int why = errno;
  std::free(memory);
  if (got < 0 && why != EBADF) {  // EBADF: opened for writing only, and O_DIRECT was taken
    facts.why = "a trial read failed (errno " + std::to_string(why) + ")";
    return false;
  }
  facts.offset_align = facts.memory_align = kUsualAlign;
  facts.why = got < 0 ? "opened with O_DIRECT" : "a trial read worked";
  return true;
}

void look(const OpenFile& file, DirectFacts& facts) {
  const std::string again =
      "/proc/self/fd/" + std::to_string(file.fd.get());  // the same file, whatever its name is now
  facts.fd = open_at(AT_FDCWD, again.c_str(), (file.flags & O_ACCMODE) | O_DIRECT);
  if (!facts.fd) {
    const int why = errno;
    facts.why = why == EINVAL   ? "the file system does not know O_DIRECT"
                : why == ENOENT ? "/proc is not mounted: the file cannot be opened a second time"
                                : "the file cannot be opened a second time (errno " + std::to_string(why) + ")";
    return;
  }
  if (!ask_alignment(facts) && !try_reading(facts)) facts.fd = FileDescriptor();
}

}  // namespace

const DirectFacts& OpenFile::direct() {
  std::call_once(looked, [&] { look(*this, facts); });
  return facts;
}

void OpenFile::refuse_direct(std::string why) {
  const std::scoped_lock lock(mutex);
  if (refused.load(std::memory_order_relaxed)) return;
  refused_why = std::move(why);  // and never changes again
  refused.store(true, std::memory_order_release);
}

std::uint64_t OpenFile::here(std::uint64_t counted) {
  const std::uint64_t process = std::uint64_t{forks()} * kProcess;
  return counted / kProcess * kProcess == process ? counted : process | (counted & kClosed);
}

bool OpenFile::begin() {
  std::uint64_t before = requests.load();
  do {
    if ((before & kClosed) != 0) return false;
  } while (!requests.compare_exchange_weak(before, here(before) + kOne));
  return true;
}

void OpenFile::add() { requests.fetch_add(kOne); }

void OpenFile::end() {
  if (requests.fetch_sub(kOne) % kProcess != kOne + kClosed) return;
  const std::scoped_lock lock(mutex);
  idle.notify_all();
}

Status OpenFile::close() {
  std::uint64_t before = requests.load();
  while (!requests.compare_exchange_weak(before, here(before) | kClosed)) {
  }
  std::unique_lock lock(mutex);
  idle.wait(lock, [&] { return requests.load() % kProcess == kClosed; });
  if ((before & kClosed) != 0) return {};
  (void)facts.fd.close();  // the same file: what was lost, the other one tells
  const int why = fd.close();
  if (why != 0) return errno_error(why, path);
  return {};
}

Result<std::shared_ptr<OpenFile>> open_path(const std::string& path, std::string_view flags,
                                            const FileOptions& options) {
  const int how = flags_of(flags);
  if (how < 0)
    return Error(ErrorCode::invalid_argument,
                 path + ": flags '" + std::string(flags) + "'; they are r, r+, w, w+, a or a+");
  if (path.find('\0') != std::string::npos)  // the system would open, or empty, the file of a shorter name
    return Error(ErrorCode::invalid_argument, "the path of the file holds a zero byte");
  FileDescriptor fd = open_at(AT_FDCWD, path.c_str(), how, options.mode);
  if (!fd) return errno_error(errno, path);
  return made(std::move(fd), path, flags.front() == 'a', options);
}

Result<std::shared_ptr<OpenFile>> adopt(int fd, const FileOptions& options) {
  const std::string name = "descriptor " + std::to_string(fd);
  FileDescriptor own(uninterrupted([&] { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); }));
  if (!own && errno == EBADF) return Error(ErrorCode::invalid_argument, name + ": no file is open there");
  if (!own) return errno_error(errno, name);
  const int flags = uninterrupted([&] { return ::fcntl(own.get(), F_GETFL); });
  const bool append = (flags & O_APPEND) != 0;
  if (append) {  // Linux ignores the offsets of writes there
    own = open_at(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), flags & O_ACCMODE);
    if (!own) return errno_error(errno, name);
  }
  return made(std::move(own), name, append, options);
}

}  // namespace penstock::io

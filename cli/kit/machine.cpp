#include "cli/kit/machine.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/io_uring.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

namespace penstock::cli {
namespace {

Error system_error(const std::string& path, int number) {
  const ErrorCode code = number == ENOENT || number == ENOTDIR ? ErrorCode::not_found
                         : number == EACCES || number == EPERM ? ErrorCode::permission_denied
                                                               : ErrorCode::io_error;
  return Error(code, fmt::format("{}: {} (errno {})", path, std::strerror(number), number)).set_errno(number);
}

struct Mount {
  std::string filesystem, source;
};

/// /proc/self/mountinfo: id parent major:minor root mountpoint options... - type source superoptions
Mount mount_of(dev_t device) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string wanted = fmt::format("{}:{}", major(device), minor(device));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, parent, number, word;
    words >> id >> parent >> number;
    if (number != wanted) continue;
    while (words >> word && word != "-") continue;
    Mount mount;
    if (words >> mount.filesystem >> mount.source) return mount;
  }
  return {"unknown", "unknown"};
}

/// Alignment from statx where the kernel tells it (6.1), else an attempt to open a file that way.
std::string direct_io(const std::string& path, std::uint32_t& align) {
#ifdef STATX_DIOALIGN
  struct statx facts = {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_DIOALIGN, &facts) == 0 && (facts.stx_mask & STATX_DIOALIGN) != 0 &&
      facts.stx_dio_offset_align > 0) {
    align = facts.stx_dio_offset_align;
    return fmt::format("O_DIRECT {} B", align);
  }
#endif
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return "O_DIRECT unknown";
  const bool directory = S_ISDIR(info.st_mode);
  const int fd = directory ? open(path.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600)
                           : open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (fd < 0) return errno == EINVAL ? "no O_DIRECT" : "O_DIRECT unknown";
  close(fd);
  align = static_cast<std::uint32_t>(info.st_blksize);
  return fmt::format("O_DIRECT, block {} B", align);
}

}  // namespace

CpuFacts cpu_facts() {
  CpuFacts facts;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name") && facts.model.empty()) facts.model = line.substr(colon + 2);
  }
#if defined(__x86_64__)
  facts.vectors = __builtin_cpu_supports("avx512bw") ? "AVX-512" : __builtin_cpu_supports("avx2") ? "AVX2" : "SSE2";
#elif defined(__aarch64__)
  facts.vectors = "NEON";
#endif
  facts.online = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return facts;
}

std::string kernel_release() {
  utsname names = {};
  return uname(&names) == 0 ? names.release : "unknown";
}

std::string host_name() {
  utsname names = {};
  return uname(&names) == 0 ? names.nodename : "unknown";
}

std::string date_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
}

Availability io_uring_facts() {
  io_uring_params params = {};
  const long fd = syscall(SYS_io_uring_setup, 1u, &params);
  if (fd >= 0) {
    close(static_cast<int>(fd));
    return {true, "kernel " + kernel_release()};
  }
  const int why = errno;
  if (why == ENOSYS) return {false, fmt::format("kernel {} has none, or a container forbids it", kernel_release())};
  if (why == EPERM) return {false, "forbidden here (kernel.io_uring_disabled, or a container's seccomp filter)"};
  return {false, fmt::format("{} (errno {})", std::strerror(why), why)};
}

Availability gpudirect_facts() {
  if (access("/proc/driver/nvidia-fs/stats", F_OK) == 0) return {true, "nvidia-fs is loaded"};
  return {false, "nvidia-fs is not loaded"};
}

Result<DiskFacts> disk_facts(const std::string& path) {
  struct stat info = {};
  struct statvfs space = {};
  if (stat(path.c_str(), &info) != 0 || statvfs(path.c_str(), &space) != 0) return system_error(path, errno);
  DiskFacts facts;
  facts.path = path;
  const Mount mount = mount_of(info.st_dev);
  facts.filesystem = mount.filesystem;
  facts.source = mount.source;
  facts.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  facts.writable = access(path.c_str(), W_OK) == 0;
  facts.direct = direct_io(path, facts.direct_align);
  return facts;
}

}  // namespace penstock::cli

// Facts about this machine, for `doctor` and for benchmark results.
#pragma once
#include <cstdint>
#include <string>

#include "penstock/error.hpp"

namespace penstock::cli {

struct CpuFacts {
  std::string model;
  std::string vectors;  ///< widest vector instructions: "AVX-512", "AVX2", "NEON", ...
  std::uint64_t online = 0;
};
CpuFacts cpu_facts();
std::string kernel_release();
std::string host_name();
/// The time now: "2026-11-22T08:00:00Z".
std::string date_utc();
std::uint64_t memory_bytes();

/// Something that is there or not, and why.
struct Availability {
  bool available = false;
  std::string detail;
};
/// Asks the kernel for an io_uring.
Availability io_uring_facts();
/// The kernel module of GPUDirect Storage.
Availability gpudirect_facts();

struct DiskFacts {
  std::string path;
  std::string filesystem;  ///< "xfs"
  std::string source;      ///< "/dev/nvme0n1p1"
  std::uint64_t free_bytes = 0;
  std::uint32_t direct_align = 0;  ///< alignment of O_DIRECT offsets, bytes
  std::string direct;              ///< "O_DIRECT 512 B", or why not
  bool writable = false;
};
/// Errors: not_found, permission_denied, io_error.
Result<DiskFacts> disk_facts(const std::string& path);

}  // namespace penstock::cli

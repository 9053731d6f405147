// A few bytes from the host to a device, with the launch of a kernel: a copy from memory that is not pinned takes
// longer.
#pragma once
#include <cstdint>

#include "device/portable.hpp"
#include "penstock/device.hpp"

namespace penstock {

/// Words that are parameters of a kernel.
struct PutWords {
  static constexpr std::uint64_t kMostBytes = 2048;
  std::uint32_t* to = nullptr;
  std::uint32_t words[kMostBytes / 4] = {};
  PENSTOCK_HD void operator()(std::uint64_t i) const { to[i] = words[i]; }
};

/// Writes `bytes` bytes from the host, at most PutWords::kMostBytes, and up to 3 more that make the last word whole.
/// They may change once this has returned.  Errors: device_error; unsupported (built without CUDA).
Status put_on_cuda(void* to, const void* from, std::uint64_t bytes, const Stream& stream);

}  // namespace penstock

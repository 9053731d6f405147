// Where the chunks of a read into device memory are decoded, why, and how many at a time.
#pragma once
#include <optional>
#include <string>

#include "codec/device_chain.hpp"
#include "penstock/control.hpp"
#include "penstock/device.hpp"

namespace penstock {

/// How chunks of an array get into device memory, and why.
struct DevicePath {
  enum class Decode : std::uint8_t { none, on_device, on_cpu };
  Decode decode = Decode::none;
  std::string text;                  ///< "cuda:0, lz4 (own)"
  std::string reason;                ///< "nothing to decode"
  std::optional<DeviceChain> chain;  ///< on_device only
};
/// `chunks`: how many are read; `threads`: that could decode them on the CPU; `decode`: as of Options.
/// Errors: unsupported (variable-length elements live in host memory only), invalid_argument (PENSTOCK_DECODE).
Result<DevicePath> device_path(const Dataset& dataset, const CodecChain& chain, Device device, std::uint64_t chunks,
                               std::uint64_t threads, std::optional<CodecPlace> decode = {});

namespace device_read {

/// Batches of chunks that the device decodes, and the groups of them that a worker takes at a time.
struct WaveLimits {
  std::uint64_t in_flight = 1;
  std::uint64_t groups = 1;        ///< of a wave
  std::uint64_t group_chunks = 1;  ///< most
};
/// What waves on a device may take of a budget: no more than a part of all its memory.
std::uint64_t wave_budget(Device device, std::uint64_t budget_bytes);
/// The largest waves that fit into `device_bytes`.
WaveLimits wave_limits(const CodecChain& chain, const DeviceChain& device, std::uint64_t device_bytes);
/// Device memory that the smallest waves need: two, of one chunk each.
std::uint64_t min_wave_bytes(const CodecChain& chain, const DeviceChain& device);

}  // namespace device_read

}  // namespace penstock

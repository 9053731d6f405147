// Writing from device memory with encoders on the device.  A wave is a batch of chunks: gathered out of the source,
// encoded, packed one behind another and brought down in one copy, then stored by all threads.  While one wave comes
// down and is stored, the next one is encoded.
#pragma once
#include <optional>

#include "array/device/source.hpp"
#include "array/write/region_writer.hpp"
#include "codec/encode_chain.hpp"
#include "exec/job.hpp"

namespace penstock::device_write {

/// Where the chunks of a write from device memory are encoded, and why.
struct EncodePath {
  std::optional<EncodeChain> chain;  ///< set when the device encodes
  std::string text;                  ///< "cuda:0, shuffle + lz4 (own)"
  std::string reason;
};

/// With `auto` the device encodes when it is thought to be quicker and, where it compresses in its own way, loses at
/// most kMaxLoss of the ratio on chunks of the region that are tried.
inline constexpr double kMaxLoss = 0.02;

/// What a wave may take.
struct WaveLimits {
  std::uint64_t device_bytes = 0, host_bytes = 0;
};
/// Of one wave, within a budget.
WaveLimits wave_limits(const DeviceSource& source, std::uint64_t budget_bytes);

/// Chooses.  The trial works in the arena of `job`.  Errors: those of settings, device and codecs.
Result<EncodePath> encode_path(const RegionWriter& writer, const DeviceSource& source, const WaveLimits& limits,
                               Job& job);

/// Encodes on the device and stores all objects that the region covers; the others are left to the caller.
Status run_encode_waves(const RegionWriter& writer, const DeviceSource& source, const EncodeChain& chain,
                        const WaveLimits& limits, Job& job);

}  // namespace penstock::device_write

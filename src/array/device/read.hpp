// Reading into the memory of a CUDA device.
#pragma once
#include <optional>
#include <string>

#include "codec/device_chain.hpp"
#include "penstock/array.hpp"

namespace penstock {

/// How chunks of an array get into device memory, and why.
struct DevicePath {
  enum class Decode : std::uint8_t { none, on_device, on_cpu };
  Decode decode = Decode::none;
  std::string text;                  ///< "cuda:0, lz4 (own)"
  std::string reason;                ///< "nothing to decode"
  std::optional<DeviceChain> chain;  ///< on_device only
};
/// `chunks`: how many are read; `threads`: that could decode them on the CPU; `decode`: as
/// of Options.
/// Errors: unsupported (variable-length elements live in host memory only), invalid_argument (PENSTOCK_DECODE).
Result<DevicePath> device_path(const Dataset& dataset, const CodecChain& chain, Device device, std::uint64_t chunks,
                               std::uint64_t threads, std::optional<CodecPlace> decode = {});

/// Reads one region into `item.target`, whose device is a CUDA device.  Work on the target is ordered on target.stream:
/// it begins after what is in the stream now, and what is put into the stream later comes after it.
Result<Report> read_device(const ReadItem& item, const Options& options);

}  // namespace penstock

// What is left of chunks that a step of a chain refused: zeros.  Later steps and placement are under way before the
// host knows of it, and so never read memory that nobody wrote.
#pragma once
#include "codec/device_decoder.hpp"
#include "device/portable.hpp"

namespace penstock {

/// Zeros the output of a chunk, which begins at a multiple of 16, unless it is ok.
template <class Team>
PENSTOCK_HD void clear_refused(const Team& team, const DecodeTask& task, const ChunkStatus& result) {
  if (result.status == DecodeStatus::ok) return;
  auto* const out = assume_global(reinterpret_cast<std::uint8_t*>(task.out));
  const std::uint64_t whole = task.out_bytes / 16;
  team.for_each(static_cast<std::uint32_t>(whole),
                [&](std::uint32_t i) { store_aligned(out + 16 * std::uint64_t{i}, Bytes16{}); });
  team.for_each(static_cast<std::uint32_t>(task.out_bytes % 16), [&](std::uint32_t i) { out[16 * whole + i] = 0; });
}

/// The chunks of a batch that a decoder was given, on a CUDA device.  Errors: as DeviceDecoder::decode.
[[nodiscard]] Status clear_refused_cuda(const DeviceBatch& batch, const Stream& stream);

}  // namespace penstock

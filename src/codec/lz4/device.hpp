// LZ4 chunks decoded on a CUDA device.
#pragma once
#include <cstdint>

#include "codec/lz4/decode.hpp"
#include "codec/status.hpp"
#include "penstock/device.hpp"

namespace penstock::lz4 {

/// Decodes `count` chunks, one warp each, in the order of `stream`; returns before they are done.
/// `tasks` and `results` are arrays of `count` in memory that the device can reach, as are the chunks.  A bad chunk
/// does not disturb the others: its result says why, and where in its input; what is in its output then is unspecified.
/// Errors: invalid_argument (not a CUDA stream), unsupported (built without CUDA), device_error.
[[nodiscard]] Status decode_cuda(const DecodeTask* tasks, std::uint32_t count, ChunkStatus* results, Framing framing,
                                 const Stream& stream);

}  // namespace penstock::lz4

// LZ4 chunks decoded and encoded on a device.
#pragma once
#include <cstdint>
#include <memory>

#include "codec/device_decoder.hpp"
#include "codec/device_encoder.hpp"
#include "codec/lz4/decode.hpp"

namespace penstock::lz4 {

/// Decodes `count` chunks in the order of `stream`; returns before they are done.
/// `tasks` and `results` are arrays of `count` in memory that the device can reach, the chunks are in its own memory.
/// A bad chunk does not disturb the others: its result says why, and where in its input; what is in its output then is
/// unspecified.  Errors: invalid_argument (not a CUDA stream), unsupported (built without CUDA), device_error.
[[nodiscard]] Status decode_cuda(const DecodeTask* tasks, std::uint32_t count, ChunkStatus* results, Framing framing,
                                 const Stream& stream);

/// Device decoder of chunks that are framed so.
std::unique_ptr<DeviceDecoder> make_device_decoder(Framing framing);

/// As DeviceEncoder::encode; the encoder itself is in codec/lz4/encode.hpp.
[[nodiscard]] Status encode_cuda(const EncodeBatch& batch, ByteSpan scratch, Framing framing, const Stream& stream);

/// Device encoder of chunks that are framed so.
std::unique_ptr<DeviceEncoder> make_device_encoder(Framing framing);

}  // namespace penstock::lz4

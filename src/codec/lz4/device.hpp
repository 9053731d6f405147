// LZ4 chunks decoded and encoded on a device.
#pragma once
#include <memory>

#include "codec/device_encoder.hpp"
#include "codec/lz/device.hpp"
#include "codec/lz4/decode.hpp"

namespace penstock::lz4 {

/// Device decoder of chunks that are framed so.
std::unique_ptr<DeviceDecoder> make_device_decoder(Framing framing);

/// As DeviceEncoder::encode; the encoder itself is in codec/lz4/encode.hpp.
[[nodiscard]] Status encode_cuda(const EncodeBatch& batch, ByteSpan scratch, Framing framing, const Stream& stream);

/// Device encoder of chunks that are framed so.
std::unique_ptr<DeviceEncoder> make_device_encoder(Framing framing);

}  // namespace penstock::lz4

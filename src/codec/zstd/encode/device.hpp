// zstd frames made on a CUDA device.
#pragma once
#include "codec/device_encoder.hpp"

namespace penstock::zstd {

/// As DeviceEncoder::encode; the encoder itself is in codec/zstd/encode/encode.hpp.
[[nodiscard]] Status encode_cuda(const EncodeBatch& batch, ByteSpan scratch, bool checksum, const Stream& stream);

}  // namespace penstock::zstd

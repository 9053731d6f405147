// DEFLATE, zlib and gzip chunks decoded on a device.
#pragma once
#include <memory>

#include "codec/deflate/decode.hpp"
#include "codec/device_decoder.hpp"

namespace penstock::deflate {

/// Decodes the chunks of a batch, a warp each, in the order of `stream`.  Errors: as DeviceDecoder::decode.
[[nodiscard]] Status decode_cuda(const DeviceBatch& batch, Container container, const Stream& stream);

std::unique_ptr<DeviceDecoder> make_device_decoder(Container container);

}  // namespace penstock::deflate

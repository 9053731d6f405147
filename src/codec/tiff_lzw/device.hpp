// LZW decoded on a device: a team for each strip or tile.
#pragma once
#include <memory>

#include "codec/device_decoder.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"

namespace penstock::tiff {

/// As DeviceDecoder::decode; the decoder itself is in codec/tiff_lzw/block.hpp.
[[nodiscard]] Status decode_lzw_cuda(const DeviceBatch& batch, LzwVariant variant, const Stream& stream);

std::unique_ptr<DeviceDecoder> make_lzw_device_decoder(LzwVariant variant);

}  // namespace penstock::tiff

// LZW decoded on a device: a team for each strip or tile, or, where there are few, for what lies between two Clears.
#pragma once
#include <memory>

#include "codec/device_decoder.hpp"
#include "codec/tiff_lzw/segments.hpp"

namespace penstock::tiff {

/// What the passes over a batch tell each other, in its scratch memory.
struct LzwScratch {
  LzwTile* tiles = nullptr;
  LzwSegment* segments = nullptr;  ///< `slots` for each tile
  std::uint32_t slots = 0;

  static std::uint64_t bytes(const BatchSize& size);
  static LzwScratch in(ByteSpan scratch, const BatchSize& size);
};

/// As DeviceDecoder::decode; the decoder itself is in codec/tiff_lzw/segments.hpp and kernel.hpp.  No scratch: a team
/// for each tile.
[[nodiscard]] Status decode_lzw_cuda(const DeviceBatch& batch, LzwVariant variant, ByteSpan scratch,
                                     const Stream& stream);

std::unique_ptr<DeviceDecoder> make_lzw_device_decoder(LzwVariant variant);

}  // namespace penstock::tiff

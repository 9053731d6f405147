// Chunks of LZ4 frames decoded on a device.  No codec of penstock uses it yet: numcodecs' "lz4" is a block with its
// size in front.  "imagecodecs_lz4f" of the imagecodecs package has frames.
#pragma once
#include <memory>

#include "codec/device_decoder.hpp"
#include "codec/lz4_frame/decode.hpp"

namespace penstock::lz4_frame {

using SharedOfWarp = Shared<lz::SharedOfWarp>;
using SharedOfBlock = Shared<lz::SharedOfBlock>;

/// A block of threads for each chunk.  Errors: as DeviceDecoder::decode.
[[nodiscard]] Status decode_cuda(const DeviceBatch& batch, const Stream& stream);

std::unique_ptr<DeviceDecoder> make_device_decoder();

}  // namespace penstock::lz4_frame

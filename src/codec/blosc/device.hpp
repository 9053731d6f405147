// Blosc chunks decoded on a device.
#pragma once
#include <memory>
#include <string_view>

#include "codec/blosc/decode.hpp"
#include "codec/device_decoder.hpp"

namespace penstock::blosc {

/// The scratch of a batch.  `slots` streams of each chunk have room.
struct Workspace {
  std::uint32_t slots = 0;
  Opened* opened = nullptr;        ///< count * slots
  DecodeTask* tasks = nullptr;     ///< the same, for the inner decoder
  ChunkStatus* decoded = nullptr;  ///< its results
  std::byte* streams = nullptr;    ///< decoded streams of shuffled chunks, `stride` bytes each
  std::uint64_t stride = 0;
};

/// The passes before and after the inner decoder, in the order of `stream`.  Errors: as DeviceDecoder::decode.
[[nodiscard]] Status open_cuda(const DeviceBatch& batch, const Workspace& ws, Inner inner, const Stream& stream);
[[nodiscard]] Status finish_cuda(const DeviceBatch& batch, const Workspace& ws, Inner inner, const Stream& stream);

/// Where stream bytes of chunk `c` go.
PENSTOCK_HD std::uint8_t* streams_of(const Workspace& ws, const DecodeTask& task, const Chunk& chunk, std::uint32_t c) {
  return reinterpret_cast<std::uint8_t*>(chunk.shuffled() ? ws.streams + c * ws.stride : task.out);
}

/// nullptr: no inner compressor of c-blosc.  item_bytes, block_bytes (0: c-blosc chose), level: as configured.
std::unique_ptr<DeviceDecoder> make_device_decoder(std::string_view cname, std::uint32_t item_bytes,
                                                   std::uint64_t block_bytes, int level);

}  // namespace penstock::blosc

// Chunks that are one LZ block (codec/lz/block.hpp) decoded on a device.
#pragma once
#include "codec/device_decoder.hpp"
#include "codec/lz/block.hpp"
#include "device/team.hpp"

namespace penstock::lz {

/// On a CUDA device (codec/lz/launch.cuh).  Besides the members that codec/lz/block.hpp names, a Format has
///   kName   as DeviceDecoder::name
/// Errors: as DeviceDecoder::decode.
template <class Format>
Status decode_cuda(const Format& format, const DeviceBatch& batch, const Stream& stream);

/// The decoder of a format.
template <class Format>
class Decoder final : public DeviceDecoder {
 public:
  explicit Decoder(const Format& format) : format_(format) {}
  [[nodiscard]] std::string_view name() const override { return Format::kName; }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan /*scratch*/, const Stream& stream) const override {
    if (stream.device().type != Device::Type::cpu) return decode_cuda(format_, batch, stream);
    SharedOfWarp shared;
    for (std::uint32_t i = 0; i < batch.size.count; ++i)
      batch.results[i] = decode_chunk(HostTeam<>(), format_, batch.tasks[i], shared);
    return {};
  }

 private:
  Format format_;
};

}  // namespace penstock::lz

// zstd as a step of a device chain.
#include "codec/device_decoder.hpp"

#include "codec/zstd/decode/on_host.hpp"
#include "codec/zstd/device.hpp"
#include "codec/zstd/zstd.hpp"
#include "device/team.hpp"

namespace penstock {
namespace {

class ZstdDevice final : public DeviceDecoder {
 public:
  [[nodiscard]] std::string_view name() const override { return "zstd"; }
  [[nodiscard]] std::uint64_t scratch_bytes(const BatchSize& size) const override {
    return zstd::scratch_bytes(size.count, size.decoded_bytes, size.largest_bytes);
  }
  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan scratch, const Stream& stream) const override {
    zstd::Batch b;
    b.tasks = batch.tasks;
    b.results = batch.results;
    b.count = batch.size.count;
    b.decoded_bytes = batch.size.decoded_bytes;
    b.largest_bytes = batch.size.largest_bytes;
    if (stream.device().type != Device::Type::cpu) return zstd::decode_cuda(b, scratch, stream);
    return decode_on_host(zstd::HostShape<4, 4, 4096>{}, HostTeam<32>{}, HostTeam<128>{}, b, scratch);
  }
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_zstd_device_decoder() { return std::make_unique<ZstdDevice>(); }

}  // namespace penstock

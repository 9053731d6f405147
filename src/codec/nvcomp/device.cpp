#include "codec/nvcomp/device.hpp"

#include "codec/support.hpp"
#include "core/align.hpp"
#include "core/json.hpp"

namespace penstock::nvcomp {
namespace {

/// More than any device has: a batch of which nvCOMP does not say what it needs does not fit.
constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 56;

constexpr std::string_view kNames[] = {"zstd", "lz4", "gzip"};  // as in Format

class NvcompDevice final : public DeviceDecoder {
 public:
  NvcompDevice(std::shared_ptr<const Library> library, Format format)
      : library_(std::move(library)), format_(format), implementation_(library_->name()) {}

  [[nodiscard]] std::string_view name() const override { return kNames[static_cast<std::size_t>(format_)]; }
  [[nodiscard]] std::string_view implementation() const override { return implementation_; }

  [[nodiscard]] std::uint64_t scratch_bytes(const BatchSize& size) const override {
    if (size.count == 0) return 0;
    std::size_t temp = 0;
    const Outcome outcome =
        library_->of(format_).temp_size(size.count, size.largest_bytes, {}, &temp, size.decoded_bytes, nullptr);
    return outcome == kSuccess ? lay_out(size.count, nullptr).end + aligned(temp) : kTooMuch;
  }

  [[nodiscard]] Status decode(const DeviceBatch& batch, ByteSpan scratch, const Stream& stream) const override {
    const std::uint32_t count = batch.size.count;
    if (count == 0) return {};
    const Layout layout = lay_out(count, scratch.data());
    if (layout.end > scratch.size()) return Error(ErrorCode::invalid_argument, "nvCOMP: the scratch is too small");
    return decode_cuda(*library_, format_, batch, layout.arrays, scratch.subspan(layout.end), stream);
  }

 private:
  struct Layout {
    Arrays arrays;
    std::uint64_t end = 0;
  };

  static Layout lay_out(std::uint64_t count, std::byte* at) {
    Layout layout;
    const auto take = [&]<class T>(T*& array, std::uint64_t n) {
      array = reinterpret_cast<T*>(at == nullptr ? nullptr : at + layout.end);
      layout.end += aligned(n * sizeof(T));
    };
    Arrays& a = layout.arrays;
    take(a.in, count);
    take(a.in_bytes, count);
    take(a.out, count);
    take(a.room, count);
    take(a.out_bytes, count);
    take(a.outcomes, count);
    take(a.spare, kSpareBytes);
    return layout;
  }

  std::shared_ptr<const Library> library_;
  Format format_;
  std::string implementation_;
};

}  // namespace

std::optional<Format> format_of(const CodecSpec& codec) {
  if (codec.name == "numcodecs.lz4") return Format::lz4;
  if (codec.name == "gzip") return Format::gzip;
  if (codec.name != "zstd") return std::nullopt;
  const auto configuration = configuration_of(codec);
  if (!configuration) return std::nullopt;
  const auto checksum = bool_or(*configuration, "checksum", false);
  return checksum && !*checksum ? std::optional(Format::zstd) : std::nullopt;
}

std::unique_ptr<DeviceDecoder> make_device_decoder(std::shared_ptr<const Library> library, Format format) {
  return std::make_unique<NvcompDevice>(std::move(library), format);
}

}  // namespace penstock::nvcomp

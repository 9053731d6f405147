#include "codec/checksum.hpp"

#include <fmt/format.h>

#include <cstring>

#include "codec/checksum/device.hpp"
#include "codec/little.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t kSize = 4;

class ChecksumCodec final : public BytesToBytes {
 public:
  ChecksumCodec(CodecSpec spec, ChecksumLocation location, ChecksumFunction sum, std::optional<checksum::Sum> device)
      : spec_(std::move(spec)), location_(location), sum_(std::move(sum)), device_(device) {}

  [[nodiscard]] CodecSpec spec() const override { return spec_; }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    if (!device_) return nullptr;
    return checksum::make_device_decoder(*device_, location_ == ChecksumLocation::start ? kSize : 0);
  }
  [[nodiscard]] std::unique_ptr<DeviceEncoder> device_encoder() const override {
    if (!device_) return nullptr;
    return checksum::make_device_encoder(*device_, location_ == ChecksumLocation::start ? kSize : 0);
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const override {
    return decoded + kSize;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override { return decoded + kSize; }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(out.resize_discard(in.size() + kSize));
    const bool first = location_ == ChecksumLocation::start;
    if (!in.empty()) std::memcpy(out.data() + (first ? kSize : 0), in.data(), in.size());
    store_little32(out.data() + (first ? 0 : in.size()), sum_(in));
    return {};
  }

  [[nodiscard]] bool keeps_bytes() const override { return true; }
  [[nodiscard]] Result<ByteView> decode_view(ByteView in) const override {
    if (in.size() < kSize) return corrupt(fmt::format("{} bytes cannot hold a 4-byte checksum", in.size()));
    const bool first = location_ == ChecksumLocation::start;
    const std::size_t at = first ? 0 : in.size() - kSize;
    const ByteView bytes = in.subspan(first ? kSize : 0, in.size() - kSize);
    const std::uint32_t stored = load_little32(in.data() + at);
    const std::uint32_t found = sum_(bytes);
    if (stored != found)
      return corrupt(fmt::format("checksum of {} bytes is {:#010x}, {:#010x} is stored at byte {}", bytes.size(), found,
                                 stored, at));
    return bytes;
  }
  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    PENSTOCK_ASSIGN(const ByteView bytes, decode_view(in));
    PENSTOCK_ASSIGN(const ByteSpan to, out.reserve(bytes.size()));
    if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    return out.finish(bytes.size());
  }

 private:
  CodecSpec spec_;
  ChecksumLocation location_;
  ChecksumFunction sum_;
  std::optional<checksum::Sum> device_;
};

std::string_view name_of(ChecksumLocation location) { return location == ChecksumLocation::start ? "start" : "end"; }

}  // namespace

std::unique_ptr<BytesToBytes> make_checksum(CodecSpec spec, ChecksumLocation location, ChecksumFunction sum,
                                            std::optional<checksum::Sum> device) {
  return std::make_unique<ChecksumCodec>(std::move(spec), location, std::move(sum), device);
}

Result<ChecksumLocation> checksum_location(const Json& configuration, ChecksumLocation fallback) {
  PENSTOCK_ASSIGN(const std::string text, string_or(configuration, "location", name_of(fallback)));
  if (text == "start") return ChecksumLocation::start;
  if (text == "end") return ChecksumLocation::end;
  return bad_configuration(fmt::format("\"location\" must be \"start\" or \"end\", is \"{}\"", text));
}

std::string location_configuration(ChecksumLocation location, ChecksumLocation fallback) {
  return location == fallback ? "{}" : fmt::format(R"({{"location":"{}"}})", name_of(location));
}

}  // namespace penstock

#include <fmt/format.h>
#include <lz4.h>

#include <algorithm>

#include "codec/little.hpp"
#include "codec/lz4/device.hpp"
#include "codec/lz4/lz4.hpp"
#include "codec/support.hpp"

namespace penstock {
namespace {

constexpr std::size_t kHeader = 4;

class Lz4Codec final : public BytesToBytes {
 public:
  explicit Lz4Codec(int acceleration) : acceleration_(acceleration) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"numcodecs.lz4", fmt::format(R"({{"acceleration":{}}})", acceleration_)};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    return lz4::make_device_decoder(lz4::Framing::numcodecs);
  }
  [[nodiscard]] std::unique_ptr<DeviceEncoder> device_encoder() const override {
    return lz4::make_device_encoder(lz4::Framing::numcodecs);
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + decoded / 255 + 16 + kHeader;
  }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    if (in.size() > LZ4_MAX_INPUT_SIZE)
      return Error(ErrorCode::unsupported,
                   fmt::format("{} bytes are more than an LZ4 block can hold ({})", in.size(), LZ4_MAX_INPUT_SIZE))
          .set_hint("use smaller chunks or another codec");
    const int size = static_cast<int>(in.size());
    PENSTOCK_TRY(out.resize_discard(kHeader + static_cast<std::uint64_t>(LZ4_compressBound(size))));
    store_little32(out.data(), static_cast<std::uint32_t>(size));
    const int made =
        LZ4_compress_fast(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data() + kHeader), size,
                          static_cast<int>(out.size() - kHeader), acceleration_);
    if (made <= 0) return Error(ErrorCode::internal, "liblz4 made no output");
    return out.resize(kHeader + static_cast<std::uint64_t>(made));
  }

  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    if (in.size() <= kHeader) return corrupt(fmt::format("{} bytes cannot hold a size and a block", in.size()));
    const std::uint32_t size = load_little32(in.data());
    if (size > LZ4_MAX_INPUT_SIZE || in.size() - kHeader > INT32_MAX)
      return corrupt_at(fmt::format("impossible size {}", size), 0);
    // LZ4 makes at most 255 bytes of one: a size beyond that is a lie, and no memory is taken for it.
    if (size / 255 > in.size()) return corrupt_at(fmt::format("{} bytes cannot decode to {}", in.size(), size), 0);
    PENSTOCK_ASSIGN(const ByteSpan to, out.reserve(size));
    char nothing = 0;
    char* const begin = to.empty() ? &nothing : reinterpret_cast<char*>(to.data());
    const int made = LZ4_decompress_safe(reinterpret_cast<const char*>(in.data() + kHeader), begin,
                                         static_cast<int>(in.size() - kHeader), static_cast<int>(size));
    if (made < 0)  // the library's number is -1 - position
      return corrupt_at("the block is corrupt", kHeader + static_cast<std::uint64_t>(-(made + 1)));
    if (static_cast<std::uint32_t>(made) != size)
      return corrupt(fmt::format("the block holds {} bytes, its header says {}", made, size));
    return out.finish(size);
  }

 private:
  int acceleration_;
};

}  // namespace

std::unique_ptr<BytesToBytes> make_lz4(int acceleration) { return std::make_unique<Lz4Codec>(acceleration); }

}  // namespace penstock

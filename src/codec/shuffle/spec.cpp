// numcodecs.shuffle: the first bytes of all elements, then the second bytes, and so on; helps the compressor after it.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/filter/shuffle.html
//                https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/numcodecs.shuffle
// Names          v3 "numcodecs.shuffle"; v2 "shuffle"
// Example        {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}
// Limits         "elementsize" left out: the size of the array's elements in v3, 4 in v2.  0 and 1 change nothing.  A
//                length that is no multiple of it is an error, as in numcodecs: there are no trailing bytes.
// Deviations     none
#include "codec/shuffle/shuffle.hpp"

#include <fmt/format.h>

#include <cstring>

#include "codec/elementwise.hpp"
#include "codec/shuffle/kernel.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

class ShuffleCodec final : public BytesToBytes {
 public:
  explicit ShuffleCodec(std::size_t size) : size_(size) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"numcodecs.shuffle", fmt::format("{{\"elementsize\":{}}}", size_)};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    const auto make = [&]<std::uint32_t kSize>(shuffle::Unshuffle<kSize> filter) -> std::unique_ptr<DeviceDecoder> {
      return std::make_unique<elementwise::Decoder<shuffle::Unshuffle<kSize>>>("unshuffle", filter);
    };
    if (size_ <= 1) return std::make_unique<elementwise::Identity>();
    if (size_ == 2) return make(shuffle::Unshuffle<2>{2});
    if (size_ == 4) return make(shuffle::Unshuffle<4>{4});
    return make(shuffle::Unshuffle<0>{static_cast<std::uint32_t>(size_)});
  }
  [[nodiscard]] std::unique_ptr<DeviceEncoder> device_encoder() const override {
    const auto make = [&]<std::uint32_t kSize>(shuffle::Shuffle<kSize> filter) -> std::unique_ptr<DeviceEncoder> {
      return std::make_unique<elementwise::Encoder<shuffle::Shuffle<kSize>>>("shuffle", filter);
    };
    if (size_ == 2) return make(shuffle::Shuffle<2>{2});
    if (size_ == 4) return make(shuffle::Shuffle<4>{4});
    return make(shuffle::Shuffle<0>{static_cast<std::uint32_t>(size_ <= 1 ? 1 : size_)});
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const override { return decoded; }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override { return decoded; }
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(check(in, ErrorCode::invalid_argument));
    PENSTOCK_TRY(out.resize_discard(in.size()));
    run(shuffle_bytes, in, out.span());
    return {};
  }
  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    PENSTOCK_TRY(check(in, ErrorCode::corrupt_data));
    PENSTOCK_ASSIGN(const ByteSpan room, out.reserve(in.size()));
    run(unshuffle_bytes, in, room);
    return out.finish(in.size());
  }

 private:
  [[nodiscard]] Status check(ByteView in, ErrorCode code) const {
    if (size_ <= 1 || in.size() % size_ == 0) return {};
    return Error(code, fmt::format("{} bytes are no whole number of elements of {} bytes", in.size(), size_));
  }
  void run(decltype(&shuffle_bytes) step, ByteView in, ByteSpan out) const {
    if (in.empty()) return;
    if (size_ <= 1)
      std::memcpy(out.data(), in.data(), in.size());
    else
      step(in.data(), out.data(), in.size() / size_, size_);
  }

  std::size_t size_;
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"elementsize"}));
  PENSTOCK_ASSIGN(const std::int64_t size, int_or(configuration, "elementsize", chunk.dtype.size_bytes, 0, INT32_MAX));
  return AnyCodec(std::make_unique<ShuffleCodec>(static_cast<std::size_t>(size)));
}

/// Without a size v2 means 4, whatever the elements are.
Result<CodecSpec> from_v2(const Json& v2, const DType& dtype) {
  (void)dtype;
  PENSTOCK_TRY(only_members(v2, {"id", "elementsize"}));
  PENSTOCK_ASSIGN(const std::int64_t size, int_or(v2, "elementsize", 4, 0, INT32_MAX));
  return CodecSpec{"numcodecs.shuffle", fmt::format("{{\"elementsize\":{}}}", size)};
}

}  // namespace

const CodecEntry kShuffleCodec = {"numcodecs.shuffle", {}, "shuffle", make, from_v2, nullptr};

}  // namespace penstock

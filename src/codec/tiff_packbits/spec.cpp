// tiff.packbits: runs of bytes, as TIFF files have them.  Not for zarr metadata; zarr's "packbits" is another codec.
//
// Specification  TIFF 6.0, section 9: a count n, then n + 1 bytes as they are (n from 0 to 127), or one byte 1 - n
// times
//                (n from -127 to -1); -128 means nothing
// Example        {"name": "tiff.packbits", "configuration": {}}
// Limits         a run that goes beyond the last byte that is wanted is cut, as by libtiff
#include "codec/tiff_packbits/tiff_packbits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

constexpr std::size_t kMaxRun = 128;

Status unpack(ByteView in, ByteSpan out) {
  std::size_t at = 0, made = 0;
  while (made < out.size()) {
    if (at == in.size())
      return corrupt(fmt::format("the runs end at byte {}, with {} of {} bytes made", at, made, out.size()));
    const auto count = static_cast<std::int8_t>(in[at++]);
    if (count == -128) continue;
    const std::size_t bytes = static_cast<std::size_t>(count >= 0 ? count : -count) + 1,
                      stored = count >= 0 ? bytes : 1;
    const std::size_t wanted = std::min(bytes, out.size() - made);
    if (in.size() - at < (count >= 0 ? wanted : 1)) return corrupt_at("a run is cut off", at - 1);
    if (count >= 0)
      std::memcpy(out.data() + made, in.data() + at, wanted);
    else
      std::memset(out.data() + made, static_cast<int>(in[at]), wanted);
    made += wanted;
    at += std::min(stored, in.size() - at);
  }
  return {};
}

/// Bytes from `at` on that are equal to the first of them, at most kMaxRun.
std::size_t run_at(ByteView in, std::size_t at) {
  std::size_t n = 1;
  while (n < kMaxRun && at + n < in.size() && in[at + n] == in[at]) ++n;
  return n;
}

std::size_t pack(ByteView in, std::byte* out) {
  std::size_t made = 0;
  for (std::size_t at = 0; at < in.size();) {
    if (const std::size_t run = run_at(in, at); run >= 3) {
      out[made++] = static_cast<std::byte>(257 - run);
      out[made++] = in[at];
      at += run;
      continue;
    }
    std::size_t n = 1;
    while (n < kMaxRun && at + n < in.size() && run_at(in, at + n) < 3) ++n;
    out[made++] = static_cast<std::byte>(n - 1);
    std::memcpy(out + made, in.data() + at, n);
    made += n;
    at += n;
  }
  return made;
}

class TiffPackbitsCodec final : public BytesToBytes {
 public:
  [[nodiscard]] CodecSpec spec() const override { return {"tiff.packbits", "{}"}; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  /// Files may have a count for every byte, and garbage behind the end.
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override { return 2 * decoded + 65536; }
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(out.resize_discard(in.size() + in.size() / kMaxRun + 1));
    return out.resize(pack(in, out.data()));
  }
  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    if (!out.expected()) return Error(ErrorCode::unsupported, "PackBits needs to know how many bytes it makes");
    PENSTOCK_ASSIGN(const ByteSpan to, out.reserve(*out.expected()));
    PENSTOCK_TRY(unpack(in, to));
    return out.finish(to.size());
  }
};

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {}));
  return AnyCodec(std::make_unique<TiffPackbitsCodec>());
}

}  // namespace

const CodecEntry kTiffPackbitsCodec = {"tiff.packbits", {}, "", make, nullptr, nullptr};

}  // namespace penstock

#include "codec/deflate.hpp"

#include <fmt/format.h>
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "codec/deflate/device.hpp"
#include "codec/deflate/inflate.hpp"
#include "codec/support.hpp"

namespace penstock {
namespace {

struct Free {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
};

Result<libdeflate_decompressor*> thread_decompressor() {
  thread_local std::unique_ptr<libdeflate_decompressor, Free> kept;
  if (!kept) kept.reset(libdeflate_alloc_decompressor());
  if (!kept) return Error(ErrorCode::out_of_memory, "cannot allocate a DEFLATE decompressor");
  return kept.get();
}

/// One compressor a thread: the level of an array seldom changes.
Result<libdeflate_compressor*> thread_compressor(int level) {
  thread_local std::unique_ptr<libdeflate_compressor, Free> kept;
  thread_local int kept_level = -1;
  if (!kept || kept_level != level) {
    kept.reset(libdeflate_alloc_compressor(level));
    kept_level = level;
  }
  if (!kept) return Error(ErrorCode::out_of_memory, "cannot allocate a DEFLATE compressor");
  return kept.get();
}

std::uint32_t big_endian(ByteView four) {
  std::uint32_t value = 0;
  for (const std::byte byte : four.first(4)) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

/// One zlib stream that fills `to`, by the decoder that is quickest for differences of images.  Returns its size; 0: it
/// is not for that decoder, or damaged.
std::size_t decode_joined(ByteView in, ByteSpan to) {
  constexpr std::size_t kHeader = 2, kTrailer = 4;
  if (to.size() < deflate::kInflateBytes || in.size() < kHeader + kTrailer) return 0;
  const std::uint32_t head = big_endian(in) >> 16;
  constexpr std::uint32_t kMethod = 0x8F00, kDeflate = 0x0800, kDictionary = 0x20;  // and a window of 32 KiB at most
  if ((head & kMethod) != kDeflate || (head & kDictionary) != 0 || head % 31 != 0) return 0;
  const auto used = deflate::inflate_whole(in.subspan(kHeader), to, deflate::Streams::that_gain);
  if (!used || in.size() - kHeader - *used < kTrailer) return 0;
  const std::uint32_t sum = libdeflate_adler32(1, to.data(), to.size());
  return sum == big_endian(in.subspan(kHeader + *used)) ? kHeader + *used + kTrailer : 0;
}

/// zlib's inflate: slower than libdeflate, but it can stop and go on, and says where and why it fails.
class Inflater final : public StreamDecoder {
 public:
  explicit Inflater(DeflateContainer container) : gzip_(container == DeflateContainer::gzip) {
    ready_ = inflateInit2(&z_, gzip_ ? 31 : 15) == Z_OK;
  }
  ~Inflater() override { inflateEnd(&z_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<Step> step(ByteView in, ByteSpan out) override {
    if (!ready_) return Error(ErrorCode::out_of_memory, "cannot allocate a DEFLATE decompressor");
    const std::size_t in_size = std::min(in.size(), kPiece);
    const std::size_t out_size = std::min(out.size(), kPiece);
    z_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    z_.avail_in = static_cast<uInt>(in_size);
    z_.next_out = reinterpret_cast<Bytef*>(out.data());
    z_.avail_out = static_cast<uInt>(out_size);
    const int code = inflate(&z_, Z_NO_FLUSH);
    if (code == Z_NEED_DICT)
      return Error(ErrorCode::unsupported, "the stream needs a dictionary, which zarr has no place for");
    if (code == Z_MEM_ERROR) return Error(ErrorCode::out_of_memory, "cannot allocate a DEFLATE decompressor");
    if (code == Z_DATA_ERROR) return corrupt(z_.msg != nullptr ? z_.msg : "not a DEFLATE stream");
    return Step{in_size - z_.avail_in, out_size - z_.avail_out, code == Z_STREAM_END};
  }
  [[nodiscard]] bool begins_member(ByteView rest) const override {
    return gzip_ && rest.size() >= 2 && rest[0] == std::byte{0x1f} && rest[1] == std::byte{0x8b};
  }
  Status restart() override {
    inflateReset(&z_);
    return {};
  }
  [[nodiscard]] std::size_t padding(ByteView rest) const override { return gzip_ ? leading_zeros(rest) : 0; }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 30;
  z_stream z_{};
  bool gzip_;
  bool ready_ = false;
};

class DeflateCodec final : public BytesToBytes {
 public:
  DeflateCodec(DeflateContainer container, int level, StreamEnd end)
      : container_(container), level_(level), end_(end) {}

  [[nodiscard]] CodecSpec spec() const override {
    const char* const name = end_ == StreamEnd::full_output         ? "tiff.deflate"
                             : container_ == DeflateContainer::gzip ? "gzip"
                                                                    : "numcodecs.zlib";
    return {name, fmt::format(R"({{"level":{}}})", level_)};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    return deflate::make_device_decoder(container_ == DeflateContainer::gzip ? deflate::Container::gzip
                                                                             : deflate::Container::zlib);
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    // Strips are stored as if they were whole, and bytes may follow them.
    return end_ == StreamEnd::full_output ? 2 * decoded + 65536 : decoded + decoded / 1024 + 1024;
  }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_ASSIGN(libdeflate_compressor* const compressor, thread_compressor(level_));
    const bool gzip = container_ == DeflateContainer::gzip;
    PENSTOCK_TRY(out.resize_discard(gzip ? libdeflate_gzip_compress_bound(compressor, in.size())
                                         : libdeflate_zlib_compress_bound(compressor, in.size())));
    const auto compress = gzip ? libdeflate_gzip_compress : libdeflate_zlib_compress;
    const std::size_t made = compress(compressor, in.data(), in.size(), out.data(), out.size());
    if (made == 0) return Error(ErrorCode::internal, "libdeflate made no output");
    return out.resize(made);
  }

  /// One member that fills the output is decode_joined's or libdeflate's; whatever is not so plain goes to zlib.
  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    if (out.expected()) {
      PENSTOCK_ASSIGN(const ByteSpan to, out.reserve_up_to(*out.expected()));
      if (const std::size_t used = container_ == DeflateContainer::zlib ? decode_joined(in, to) : 0;
          used > 0 && (end_ == StreamEnd::full_output || used == in.size()))
        return out.finish(to.size());
      PENSTOCK_ASSIGN(libdeflate_decompressor* const decompressor, thread_decompressor());
      const auto decompress =
          container_ == DeflateContainer::gzip ? libdeflate_gzip_decompress_ex : libdeflate_zlib_decompress_ex;
      std::size_t used = 0;
      std::size_t made = 0;
      const libdeflate_result rc = decompress(decompressor, in.data(), in.size(), to.data(), to.size(), &used, &made);
      const bool at_end = end_ == StreamEnd::full_output ? made == to.size() : used == in.size();
      if (rc == LIBDEFLATE_SUCCESS && at_end) return out.finish(made);
    }
    Inflater inflater(container_);
    return decode_stream(inflater, in, out, end_);
  }

 private:
  DeflateContainer container_;
  int level_;
  StreamEnd end_;
};

}  // namespace

std::unique_ptr<BytesToBytes> make_deflate(DeflateContainer container, int level, StreamEnd end) {
  return std::make_unique<DeflateCodec>(container, level, end);
}

}  // namespace penstock

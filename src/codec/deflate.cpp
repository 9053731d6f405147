#include "codec/deflate.hpp"

#include <fmt/format.h>
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

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

/// inflate() of zlib over a whole input, with what is needed to end it.
class Inflater {
 public:
  explicit Inflater(DeflateContainer container) {
    ready_ = inflateInit2(&z_, container == DeflateContainer::gzip ? 31 : 15);
  }
  ~Inflater() { inflateEnd(&z_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  [[nodiscard]] bool ready() const { return ready_ == Z_OK; }

  struct Step {
    int code;
    std::size_t used, made;
  };
  Step step(ByteView in, ByteSpan out) {
    const std::size_t in_size = std::min<std::size_t>(in.size(), kPiece);
    const std::size_t out_size = std::min<std::size_t>(out.size(), kPiece);
    z_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    z_.avail_in = static_cast<uInt>(in_size);
    z_.next_out = reinterpret_cast<Bytef*>(out.data());
    z_.avail_out = static_cast<uInt>(out_size);
    const int code = inflate(&z_, Z_NO_FLUSH);
    return {code, in_size - z_.avail_in, out_size - z_.avail_out};
  }
  void next_member() { inflateReset(&z_); }
  [[nodiscard]] std::string message() const { return z_.msg != nullptr ? z_.msg : "the data end inside the stream"; }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 30;
  z_stream z_{};
  int ready_;
};

bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Where decoding goes wrong and why, by decoding once more with zlib, which tells.  Only after an error.
Error find_fault(DeflateContainer container, ByteView in) {
  Inflater inflater(container);
  if (!inflater.ready()) return {ErrorCode::out_of_memory, "cannot allocate a DEFLATE decompressor"};
  std::array<std::byte, 16384> sink;
  std::size_t at = 0;
  for (;;) {
    const auto [code, used, made] = inflater.step(in.subspan(at), sink);
    at += used;
    if (code == Z_STREAM_END && container == DeflateContainer::gzip && at < in.size()) {
      inflater.next_member();
      continue;
    }
    if (code == Z_STREAM_END) return corrupt_at("bytes follow the end of the stream", at);
    if (code != Z_OK || (used == 0 && made == 0)) return corrupt_at(inflater.message(), at);
  }
}

class DeflateCodec final : public BytesToBytes {
 public:
  DeflateCodec(DeflateContainer container, int level) : container_(container), level_(level) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {container_ == DeflateContainer::gzip ? "gzip" : "numcodecs.zlib", fmt::format(R"({{"level":{}}})", level_)};
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + decoded / 1024 + 1024;
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

  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    if (in.empty()) return corrupt("no data");
    return out.expected() ? decode_known(in, out) : decode_growing(in, out);
  }

 private:
  Status decode_known(ByteView in, Sink& out) const {
    PENSTOCK_ASSIGN(libdeflate_decompressor* const decompressor, thread_decompressor());
    PENSTOCK_ASSIGN(const ByteSpan to, out.reserve_up_to(*out.expected()));
    const auto decompress =
        container_ == DeflateContainer::gzip ? libdeflate_gzip_decompress_ex : libdeflate_zlib_decompress_ex;
    std::size_t at = 0;
    std::size_t made = 0;
    do {
      std::size_t used = 0;
      std::size_t more = 0;
      const libdeflate_result rc =
          decompress(decompressor, in.data() + at, in.size() - at, to.data() + made, to.size() - made, &used, &more);
      if (rc == LIBDEFLATE_INSUFFICIENT_SPACE)
        return corrupt(fmt::format("the data hold more than the {} bytes expected", to.size()));
      if (rc != LIBDEFLATE_SUCCESS) return find_fault(container_, in);
      at += used;
      made += more;
    } while (another_member(in.subspan(at)));
    if (at < in.size() && !trailing_is_padding(in.subspan(at)))
      return corrupt_at("bytes follow the end of the stream", at);
    return out.finish(made);
  }

  Status decode_growing(ByteView in, Sink& out) const {
    Inflater inflater(container_);
    if (!inflater.ready()) return Error(ErrorCode::out_of_memory, "cannot allocate a DEFLATE decompressor");
    PENSTOCK_ASSIGN(ByteSpan to, out.reserve_up_to(in.size() * 4 + 65536));
    std::size_t at = 0;
    std::size_t made = 0;
    for (;;) {
      const auto [code, used, more] = inflater.step(in.subspan(at), to.subspan(made));
      at += used;
      made += more;
      if (code == Z_STREAM_END) {
        if (!another_member(in.subspan(at))) break;
        inflater.next_member();
      } else if (code == Z_NEED_DICT) {
        return Error(ErrorCode::unsupported, "the stream needs a dictionary, which zarr has no place for");
      } else if (made == to.size() && (code == Z_OK || code == Z_BUF_ERROR)) {
        PENSTOCK_ASSIGN(to, out.grow_further(made));
      } else if (code != Z_OK || (used == 0 && more == 0)) {
        return corrupt_at(inflater.message(), at);
      }
    }
    if (at < in.size() && !trailing_is_padding(in.subspan(at)))
      return corrupt_at("bytes follow the end of the stream", at);
    return out.finish(made);
  }

  [[nodiscard]] bool another_member(ByteView rest) const {
    return container_ == DeflateContainer::gzip && rest.size() >= 2 && rest[0] == std::byte{0x1f} &&
           rest[1] == std::byte{0x8b};
  }
  [[nodiscard]] bool trailing_is_padding(ByteView rest) const {
    return container_ == DeflateContainer::gzip && all_zero(rest);
  }

  DeflateContainer container_;
  int level_;
};

}  // namespace

std::unique_ptr<BytesToBytes> make_deflate(DeflateContainer container, int level) {
  return std::make_unique<DeflateCodec>(container, level);
}

}  // namespace penstock

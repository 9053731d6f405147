#include <bzlib.h>
#include <fmt/format.h>

#include <algorithm>

#include "codec/bz2/bz2.hpp"
#include "codec/stream.hpp"
#include "codec/support.hpp"

namespace penstock {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 30;  // the library counts in 32 bits

Error no_memory() { return {ErrorCode::out_of_memory, "cannot allocate a bzip2 context"}; }

void set_pieces(bz_stream& z, ByteView in, ByteSpan out) {
  z.next_in = const_cast<char*>(reinterpret_cast<const char*>(in.data()));
  z.avail_in = static_cast<unsigned>(std::min(in.size(), kPiece));
  z.next_out = reinterpret_cast<char*>(out.data());
  z.avail_out = static_cast<unsigned>(std::min(out.size(), kPiece));
}

class Decompressor final : public StreamDecoder {
 public:
  Decompressor() { ready_ = BZ2_bzDecompressInit(&z_, 0, 0) == BZ_OK; }
  ~Decompressor() override { BZ2_bzDecompressEnd(&z_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  Result<Step> step(ByteView in, ByteSpan out) override {
    if (!ready_) return no_memory();
    set_pieces(z_, in, out);
    const unsigned in_size = z_.avail_in;
    const unsigned out_size = z_.avail_out;
    const int code = BZ2_bzDecompress(&z_);
    if (code == BZ_MEM_ERROR) return no_memory();
    if (code == BZ_DATA_ERROR_MAGIC) return corrupt("not a bzip2 stream");
    if (code != BZ_OK && code != BZ_STREAM_END) return corrupt("a block is corrupt or its checksum wrong");
    return Step{in_size - z_.avail_in, out_size - z_.avail_out, code == BZ_STREAM_END};
  }
  [[nodiscard]] bool begins_member(ByteView rest) const override { return as_text(rest).starts_with("BZh"); }
  Status restart() override {
    BZ2_bzDecompressEnd(&z_);
    z_ = {};
    ready_ = BZ2_bzDecompressInit(&z_, 0, 0) == BZ_OK;
    return {};
  }

 private:
  bz_stream z_{};
  bool ready_ = false;
};

class Bz2Codec final : public BytesToBytes {
 public:
  explicit Bz2Codec(int level) : level_(level) {}

  [[nodiscard]] CodecSpec spec() const override { return {"numcodecs.bz2", fmt::format(R"({{"level":{}}})", level_)}; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + decoded / 64 + 1024;
  }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    PENSTOCK_TRY(out.resize_discard(max_encoded_size(in.size())));
    bz_stream z{};
    if (BZ2_bzCompressInit(&z, level_, 0, 0) != BZ_OK) return no_memory();
    std::size_t at = 0;
    std::size_t made = 0;
    int code = BZ_RUN_OK;
    while (code == BZ_RUN_OK || code == BZ_FINISH_OK) {
      set_pieces(z, in.subspan(at), out.span().subspan(made));
      const unsigned in_size = z.avail_in;
      const unsigned out_size = z.avail_out;
      code = BZ2_bzCompress(&z, at + in_size == in.size() ? BZ_FINISH : BZ_RUN);
      at += in_size - z.avail_in;
      made += out_size - z.avail_out;
    }
    BZ2_bzCompressEnd(&z);
    if (code != BZ_STREAM_END) return Error(ErrorCode::internal, fmt::format("libbz2 failed to encode ({})", code));
    return out.resize(made);
  }

  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    Decompressor decompressor;
    return decode_stream(decompressor, in, out);
  }

 private:
  int level_;
};

}  // namespace

std::unique_ptr<BytesToBytes> make_bz2(int level) { return std::make_unique<Bz2Codec>(level); }

}  // namespace penstock

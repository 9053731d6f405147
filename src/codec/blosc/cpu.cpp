#include <blosc.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "codec/blosc/blocks.hpp"
#include "codec/blosc/blosc.hpp"
#include "codec/blosc/device.hpp"
#include "codec/little.hpp"
#include "codec/support.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxBytes = BLOSC_MAX_BUFFERSIZE;

/// The 16 bytes that every Blosc 1 buffer begins with.
struct Header {
  std::uint8_t version, compressor;
  std::uint32_t decoded_bytes, block_bytes, encoded_bytes;
};

/// Library that decodes what the header says; nullptr: no such one.
const char* library_of(std::uint8_t code) {
  constexpr const char* kNames[] = {"blosclz", "lz4", "snappy", "zlib", "zstd"};
  return code < std::size(kNames) ? kNames[code] : nullptr;
}

Result<Header> read_header(ByteView in) {
  if (in.size() < BLOSC_MIN_HEADER_LENGTH)
    return corrupt(fmt::format("{} bytes cannot hold the 16-byte header", in.size()));
  const Header h{static_cast<std::uint8_t>(in[0]), static_cast<std::uint8_t>(in[2] >> 5), load_little32(in.data() + 4),
                 load_little32(in.data() + 8), load_little32(in.data() + 12)};
  if (h.version != BLOSC_VERSION_FORMAT) return corrupt_at(fmt::format("unknown format version {}", h.version), 0);
  if (h.encoded_bytes != in.size())
    return corrupt_at(fmt::format("the header says {} bytes, there are {}", h.encoded_bytes, in.size()), 12);
  if (h.decoded_bytes > kMaxBytes) return corrupt_at("impossible decoded size", 4);
  if (library_of(h.compressor) == nullptr)
    return corrupt_at(fmt::format("unknown inner compressor {}", h.compressor), 2);
  return h;
}

Error no_inner(const std::string& cname) {
  return {ErrorCode::unsupported, fmt::format("c-blosc is built without the inner compressor {}", cname)};
}

class BloscCodec final : public BytesToBytes {
 public:
  explicit BloscCodec(BloscParameters parameters) : p_(std::move(parameters)) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"blosc", fmt::format(R"({{"typesize":{},"cname":"{}","clevel":{},"shuffle":"{}","blocksize":{}}})",
                                 p_.typesize, p_.cname, p_.clevel, blosc_shuffle_name(p_.shuffle), p_.blocksize)};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override {
    return blosc::make_device_decoder(p_.cname, p_.typesize, p_.blocksize, p_.clevel);
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + BLOSC_MAX_OVERHEAD;
  }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    if (!blosc_has(p_.cname)) return no_inner(p_.cname);
    if (in.size() > kMaxBytes)
      return Error(ErrorCode::unsupported,
                   fmt::format("{} bytes are more than a blosc chunk can hold ({})", in.size(), kMaxBytes))
          .set_hint("use smaller chunks or another codec");
    const std::uint64_t most = max_encoded_size(in.size());
    // libsnappy compresses a block only where its longest output would fit; else c-blosc stores the bytes.
    const std::uint64_t more = p_.cname == "snappy" ? in.size() / 6 + 32 : 0;
    PENSTOCK_TRY(out.resize_discard(most + more));
    int made = compress(in, out.data(), most + more);
    if (made > 0 && static_cast<std::uint64_t>(made) > most) made = compress(in, out.data(), most);
    if (made <= 0) return Error(ErrorCode::internal, fmt::format("c-blosc failed to encode ({})", made));
    learn(in.size(), out);
    return out.resize(static_cast<std::uint64_t>(made));
  }

  [[nodiscard]] std::uint64_t piece_bytes(std::uint64_t decoded) const override {
    const std::uint64_t learned = learned_.load(std::memory_order_relaxed);
    return learned >> 32 == decoded ? learned & 0xFFFFFFFF : 0;
  }

  [[nodiscard]] Status encode_pieces(PieceSource& in, Bytes& out) const override {
    if (const std::uint64_t block_bytes = piece_bytes(in.size()); block_bytes > 0) {
      PENSTOCK_ASSIGN(const bool fits, blosc::encode_blocks(p_, block_bytes, in, out));
      if (fits) return {};
    }
    PENSTOCK_ASSIGN(const ByteView all, in.piece(0, in.size()));
    return encode(all, out);
  }

  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    PENSTOCK_ASSIGN(const Header header, read_header(in));
    if (const char* library = library_of(header.compressor); !blosc_has(library)) return no_inner(library);
    PENSTOCK_ASSIGN(const ByteSpan to, out.reserve(header.decoded_bytes));
    std::size_t valid = 0;
    if (blosc_cbuffer_validate(in.data(), in.size(), &valid) != 0) return corrupt_at("impossible header", 0);
    if (to.empty()) return out.finish(0);
    const int made = blosc_decompress_ctx(in.data(), to.data(), to.size(), 1);
    if (made < 0 || static_cast<std::size_t>(made) != to.size())
      return corrupt(fmt::format("the {} blocks cannot be decoded", library_of(header.compressor)));
    return out.finish(to.size());
  }

 private:
  /// Bytes made, at most `room`; 0 or less: an error.
  [[nodiscard]] int compress(ByteView in, std::byte* out, std::uint64_t room) const {
    return blosc_compress_ctx(p_.clevel, static_cast<int>(p_.shuffle), p_.typesize, in.size(), in.data(), out, room,
                              p_.cname.c_str(), p_.blocksize, 1);
  }

  /// Keeps the block size that c-blosc chose for inputs of this size, when they are whole blocks and get smaller: the
  /// next is encoded block by block.  Fewer than kMinBlocks are in the cache anyway, and a block is a small part of
  /// the working memory.  Not snappy, which wants more room than a block's place in the buffer has.
  void learn(std::uint64_t decoded, const Bytes& encoded) const {
    const std::uint64_t block_bytes = load_little32(encoded.data() + 8);
    const bool stored = (std::to_integer<unsigned>(encoded.data()[2]) & BLOSC_MEMCPYED) != 0;
    const bool whole_blocks = block_bytes > 0 && decoded % block_bytes == 0 && decoded / block_bytes >= kMinBlocks;
    learned_.store(whole_blocks && !stored && p_.cname != "snappy" ? decoded << 32 | block_bytes : 0,
                   std::memory_order_relaxed);
  }

  static constexpr std::uint64_t kMinBlocks = 8;
  BloscParameters p_;
  mutable std::atomic<std::uint64_t> learned_{0};  ///< size of the input << 32 | size of a block; sizes are below 2^31
};

}  // namespace

bool blosc_has(const std::string& cname) { return blosc_compname_to_compcode(cname.c_str()) >= 0; }

std::unique_ptr<BytesToBytes> make_blosc(BloscParameters parameters) {
  return std::make_unique<BloscCodec>(std::move(parameters));
}

}  // namespace penstock

// The three kinds of codec, as zarr v3 has them.  A codec object is made for one kind of chunk (shape, dtype, fill), is
// immutable, and serves all chunks of an array from many threads.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/api.hpp"
#include "penstock/bytes.hpp"
#include "penstock/dataset.hpp"
#include "penstock/dtype.hpp"
#include "penstock/error.hpp"
#include "penstock/region.hpp"

namespace penstock {

class DeviceDecoder;  // codec/device_decoder.hpp
class DeviceEncoder;  // codec/device_encoder.hpp

/// What a chunk looks like at one point of the chain.
struct PENSTOCK_API ChunkSpec {
  Shape shape;
  DType dtype;
  std::vector<std::byte> fill;  ///< one element in native order; empty: zeros
  /// Elements x size.  Errors: out_of_range.
  [[nodiscard]] Result<std::uint64_t> size_bytes() const;
};

/// Things that a decode may need besides its input.
struct DecodeContext {
  Arena* arena = nullptr;  ///< for variable-length elements
};

/// Where decoded bytes go: memory of exactly the expected size, or a buffer that may grow up to a limit.
class PENSTOCK_API Sink {
 public:
  /// Exactly `fixed.size()` bytes must be made.
  explicit Sink(ByteSpan fixed) : fixed_(fixed) {}
  /// At most `limit` bytes may be made.
  Sink(Bytes& grow, std::uint64_t limit) : grow_(&grow), limit_(limit) {}
  /// Known size of the output, if it is known.
  [[nodiscard]] std::optional<std::uint64_t> expected() const {
    return grow_ ? std::nullopt : std::optional<std::uint64_t>(fixed_.size());
  }
  [[nodiscard]] std::uint64_t limit() const { return grow_ ? limit_ : fixed_.size(); }
  /// Room for `bytes`.  Errors: corrupt_data when the sink is fixed and the size differs, or the limit is passed.
  Result<ByteSpan> reserve(std::uint64_t bytes);
  /// Room for as much as can be told before decoding: fixed size, or `guess` within the limit; call `shrink` after.
  Result<ByteSpan> reserve_up_to(std::uint64_t guess);
  /// Enlarges a growing sink, keeping its content.  Errors: corrupt_data past the limit.
  Result<ByteSpan> grow_to(std::uint64_t bytes);
  /// More room than the `full` bytes that a decoder has filled while it still has output.
  /// Errors: corrupt_data when there may be no more.
  Result<ByteSpan> grow_further(std::uint64_t full);
  /// States how many bytes were made.  Errors: corrupt_data when the sink is fixed and this is not its size.
  Status finish(std::uint64_t made);
  [[nodiscard]] ByteView made() const;

 private:
  ByteSpan fixed_;
  Bytes* grow_ = nullptr;
  std::uint64_t limit_ = 0;
};

/// Bytes that an encoder takes piece by piece, so that each is in the cache when it is encoded.
class PieceSource {
 public:
  virtual ~PieceSource() = default;
  /// All of them.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Bytes [first, first + count), which lie within; valid until the next call.
  [[nodiscard]] virtual Result<ByteView> piece(std::uint64_t first, std::uint64_t count) = 0;
};

/// Common to all codecs.
class PENSTOCK_API Codec {
 public:
  virtual ~Codec() = default;
  /// Name and configuration as written in zarr v3 metadata.
  [[nodiscard]] virtual CodecSpec spec() const = 0;
  /// Decodes the same on a device; nullptr: only the CPU does.
  [[nodiscard]] virtual std::unique_ptr<DeviceDecoder> device_decoder() const;
  /// Encodes on a device what `decode` reads; nullptr: only the CPU does.
  [[nodiscard]] virtual std::unique_ptr<DeviceEncoder> device_encoder() const;
};

/// Elements to elements ("transpose", "numcodecs.delta").  Both sides are C-order, native-order chunks.
class PENSTOCK_API ArrayToArray : public Codec {
 public:
  /// The chunk after encoding.
  [[nodiscard]] virtual const ChunkSpec& encoded() const = 0;
  /// Sizes of `in` and `out` are those of the two specs.
  [[nodiscard]] virtual Status encode(ByteView in, ByteSpan out) const = 0;
  [[nodiscard]] virtual Status decode(ByteView in, ByteSpan out) const = 0;
  /// Axis order when this codec only permutes axes (encoded axis i is decoded axis order[i]), else empty.
  [[nodiscard]] virtual std::span<const std::uint32_t> permutation() const { return {}; }
};

/// Elements to bytes ("bytes", "sharding_indexed", "vlen-utf8", "packbits").
class PENSTOCK_API ArrayToBytes : public Codec {
 public:
  /// Size of the encoded chunk when it does not depend on the values.
  [[nodiscard]] virtual std::optional<std::uint64_t> encoded_size() const = 0;
  /// Most bytes that a valid encoded chunk can have (for bounding decompression); nullopt: no bound known.
  [[nodiscard]] virtual std::optional<std::uint64_t> max_encoded_size() const { return encoded_size(); }
  [[nodiscard]] virtual Status encode(ByteView in, Bytes& out) const = 0;
  [[nodiscard]] virtual Status decode(ByteView in, ByteSpan out, const DecodeContext& context) const = 0;
  /// Set when the encoded bytes are the elements themselves, perhaps byte swapped: decoding may be left to placement.
  [[nodiscard]] virtual bool is_plain() const { return false; }
  /// is_plain only: whether multi-byte units are stored in the other byte order.
  [[nodiscard]] virtual bool swaps_bytes() const { return false; }
};

/// Bytes to bytes ("zstd", "crc32c", "numcodecs.shuffle").
class PENSTOCK_API BytesToBytes : public Codec {
 public:
  /// Size of the output for an input of `decoded` bytes when it does not depend on the content.
  [[nodiscard]] virtual std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const = 0;
  /// Most bytes that `decoded` input bytes can become.
  [[nodiscard]] virtual std::uint64_t max_encoded_size(std::uint64_t decoded) const = 0;
  /// `out` is overwritten; its memory is reused.
  [[nodiscard]] virtual Status encode(ByteView in, Bytes& out) const = 0;
  /// Bytes that encode_pieces takes at a time from `decoded` bytes of input; 0: it does nothing that encode does not.
  [[nodiscard]] virtual std::uint64_t piece_bytes(std::uint64_t /*decoded*/) const { return 0; }
  /// Makes what encode makes of all of `in`.
  [[nodiscard]] virtual Status encode_pieces(PieceSource& in, Bytes& out) const;
  /// The same codec with an encoder that is quicker, and on some data makes no more bytes; nullptr: there is none.
  [[nodiscard]] virtual std::unique_ptr<BytesToBytes> quicker() const { return nullptr; }
  /// Errors: corrupt_data with the byte position where it can be told.
  [[nodiscard]] virtual Status decode(ByteView in, Sink& out) const = 0;
  /// Set when the encoded bytes hold the decoded ones unchanged (checksums): decode_view gives them without a copy.
  [[nodiscard]] virtual bool keeps_bytes() const { return false; }
  /// keeps_bytes only: checks `in` and gives the part of it that is the decoded bytes.  Errors: corrupt_data.
  [[nodiscard]] virtual Result<ByteView> decode_view(ByteView in) const { return in; }
};

}  // namespace penstock

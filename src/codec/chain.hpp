// A codec chain bound to one kind of chunk.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "codec/codec.hpp"
#include "exec/scratch.hpp"

#include "penstock/api.hpp"

namespace penstock {

class ShardingCodec;  // codec/sharding/sharding.hpp

/// How the bytes that `decode_to_layout` makes lie: what is left to do when they are placed.
struct ChunkLayout {
  Strides strides;      ///< bytes, per dimension of the decoded chunk
  bool swap = false;    ///< units of dtype.swap_unit() bytes (per field for structures) are in the other byte order
  bool c_order = true;  ///< strides are those of C order
};

/// Immutable, thread-safe.
class PENSTOCK_API CodecChain {
 public:
  /// Binds specs to a chunk.  Errors: unsupported (unknown codec, by name), invalid_metadata (order of kinds,
  /// parameters).
  static Result<CodecChain> make(std::span<const CodecSpec> specs, const ChunkSpec& decoded);

  [[nodiscard]] const ChunkSpec& decoded() const { return decoded_; }
  [[nodiscard]] std::uint64_t decoded_size() const { return decoded_size_; }
  /// The sharding codec when inner chunks can be read alone: it is the array->bytes codec, nothing is around it.
  [[nodiscard]] const ShardingCodec* sharding() const;
  /// Encoded size of every chunk when it does not depend on the values.
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const { return encoded_size_; }
  /// Most bytes that an encoded chunk can have; nullopt: not known (variable-length elements).
  [[nodiscard]] std::optional<std::uint64_t> max_encoded_size() const { return max_encoded_size_; }
  /// Size of the data before bytes->bytes codec `i` (in encoding order) when it does not depend on the values.
  [[nodiscard]] std::optional<std::uint64_t> exact_size_before(std::size_t i) const { return sizes_[i].exact; }
  /// After the bytes->bytes codecs are undone, all that is left is what raw_layout says.
  [[nodiscard]] bool is_plain() const { return plain_; }
  /// Leading array codecs that only permute axes: left to the layout.
  [[nodiscard]] std::size_t layout_codecs() const { return layout_codecs_; }
  /// No bytes->bytes codec and a plain array->bytes codec: an encoded chunk is its raw bytes.
  [[nodiscard]] bool is_uncompressed() const;
  /// is_uncompressed, and the raw bytes are the elements in C order and native byte order: encoding changes nothing.
  [[nodiscard]] bool encodes_as_is() const { return is_uncompressed() && layout_.c_order && !layout_.swap; }
  [[nodiscard]] std::span<const std::unique_ptr<BytesToBytes>> bytes_codecs() const { return b2b_; }
  [[nodiscard]] const ArrayToBytes& array_to_bytes() const { return *a2b_; }
  [[nodiscard]] std::span<const std::unique_ptr<ArrayToArray>> array_codecs() const { return a2a_; }
  /// "bytes + zstd + crc32c", for reports.
  [[nodiscard]] std::string text() const;
  /// The specs that this chain was made of, with every member that a codec has, spelled as the metadata of a zarr
  /// version have it, so that programs without the same defaults read them.  The v3 names of numcodecs stay as they
  /// are. Errors: invalid_metadata.
  [[nodiscard]] Result<std::vector<CodecSpec>> complete(std::span<const CodecSpec> specs, int zarr_format) const;

  /// Layout of what decode_to_layout makes.
  [[nodiscard]] const ChunkLayout& chunk_layout() const { return layout_; }
  /// Decodes into `out` (decoded_size bytes); byte order and axis order may be left as raw_layout says.
  [[nodiscard]] Status decode_to_layout(ByteView in, ByteSpan out, ScratchBuffers& scratch,
                                        const DecodeContext& context) const;
  /// Decodes completely: C order, native byte order.
  [[nodiscard]] Status decode(ByteView in, ByteSpan out, ScratchBuffers& scratch, const DecodeContext& context) const;
  /// Encodes a C-order native chunk of decoded_size bytes into `out`.
  [[nodiscard]] Status encode(ByteView in, Bytes& out, ScratchBuffers& scratch) const;
  /// Encodes what decode_to_layout makes of a plain chain (is_plain), laid out as raw_layout says.
  [[nodiscard]] Status encode_raw(ByteView in, Bytes& out, ScratchBuffers& scratch) const;
  /// Bytes that encode_pieces takes at a time; 0: the chain wants the chunk as a whole.
  [[nodiscard]] std::uint64_t piece_bytes() const;
  /// As encode, when piece_bytes is not 0.
  [[nodiscard]] Status encode_pieces(PieceSource& in, Bytes& out) const;
  /// The same chain with the quicker encoders that its codecs know (BytesToBytes::quicker); nullopt: none knows one.
  [[nodiscard]] Result<std::optional<CodecChain>> quicker() const;
  /// Working memory that one decode or encode may take beyond its input and output, in bytes (estimate from above).
  [[nodiscard]] std::uint64_t scratch_bytes() const;

 private:
  /// Size of the data at one point among the bytes->bytes codecs.
  struct StageSize {
    std::optional<std::uint64_t> exact;
    std::uint64_t limit = 0;  ///< decoding stops with corrupt_data beyond it
  };
  Status add(const CodecSpec& spec, const CodecSpec* behind, ChunkSpec& at);
  Status measure();
  Status lay_out();
  Result<ByteView> undo_bytes_codecs(ByteView in, const ByteSpan* direct, class PingPong& buffers) const;
  Status undo_array_codecs(ByteView in, ByteSpan out, std::size_t keep, class PingPong& buffers,
                           const DecodeContext& context) const;
  Status apply_bytes_codecs(ByteView in, Bytes& out, class PingPong& buffers) const;

  ChunkSpec decoded_;
  std::uint64_t decoded_size_ = 0;
  std::optional<std::uint64_t> encoded_size_;
  std::optional<std::uint64_t> max_encoded_size_;
  ChunkLayout layout_;
  std::size_t layout_codecs_ = 0;  ///< leading array codecs that only permute axes: left to the layout
  bool plain_ = false;             ///< all array codecs are left to the layout and array->bytes is plain
  std::vector<StageSize> sizes_;   ///< before each bytes->bytes codec, in encoding order
  const ShardingCodec* sharding_ = nullptr;
  std::vector<std::unique_ptr<ArrayToArray>> a2a_;
  std::unique_ptr<ArrayToBytes> a2b_;
  std::vector<std::unique_ptr<BytesToBytes>> b2b_;
};

}  // namespace penstock

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/scratch.hpp"
#include "codec/sharding/codec.hpp"
#include "codec/strided.hpp"
#include "codec/support.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

static_assert(sizeof(ShardEntry) == 16);

ByteSpan entry_bytes(std::vector<ShardEntry>& entries) { return std::as_writable_bytes(std::span(entries)); }

bool same_text(const VlenRef& a, ByteView b) {
  return a.size == b.size() && (a.size == 0 || std::memcmp(a.data, b.data(), a.size) == 0);
}

class IndexedShard final : public ShardingCodec {
 public:
  static Result<std::unique_ptr<ShardingCodec>> make(const ChunkSpec& chunk, const ShardingSpec& spec);

  [[nodiscard]] CodecSpec spec() const override { return spec_; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint64_t> max_encoded_size() const override { return max_encoded_size_; }

  [[nodiscard]] const Shape& inner_shape() const override { return inner_.decoded().shape; }
  [[nodiscard]] const Shape& inner_grid() const override { return grid_; }
  [[nodiscard]] std::uint64_t inner_count() const override { return count_; }
  [[nodiscard]] const CodecChain& inner() const override { return inner_; }
  [[nodiscard]] IndexLocation index_location() const override { return location_; }
  [[nodiscard]] std::uint64_t index_bytes() const override { return index_bytes_; }

  [[nodiscard]] Result<std::vector<ShardEntry>> decode_index(ByteView index, std::uint64_t shard_bytes) const override;
  [[nodiscard]] Status encode_index(std::span<const ShardEntry> entries, Bytes& out) const override;
  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override;
  [[nodiscard]] Status decode(ByteView in, ByteSpan out, const DecodeContext& context) const override;

 private:
  IndexedShard(CodecChain inner, CodecChain index) : inner_(std::move(inner)), index_(std::move(index)) {}
  [[nodiscard]] std::uint64_t body_begin() const { return location_ == IndexLocation::start ? index_bytes_ : 0; }
  [[nodiscard]] Error too_short(std::uint64_t shard_bytes) const {
    return corrupt(fmt::format("the shard has {} bytes, its index alone {}", shard_bytes, index_bytes_));
  }
  [[nodiscard]] bool is_fill(ByteView chunk) const;
  Status fill_chunk(ByteSpan chunk, const DecodeContext& context) const;
  /// Byte offset of an inner chunk's first element in the decoded shard; steps through the grid in C order.
  template <class F>
  Status for_each_inner(F&& each) const;

  CodecChain inner_;
  CodecChain index_;
  ChunkSpec shard_;
  Shape grid_;
  Strides shard_strides_;
  Strides inner_strides_;
  bool contiguous_ = false;  // an inner chunk is one run of the shard's elements
  std::uint64_t count_ = 0;
  std::uint64_t index_bytes_ = 0;
  IndexLocation location_ = IndexLocation::end;
  std::optional<std::uint64_t> max_encoded_size_;
  CodecSpec spec_;
};

/// Whether the inner chunk's elements follow each other in the shard: whole in every dimension after the first that
/// is not 1.
bool is_contiguous(const Shape& inner, const Shape& shard) {
  std::size_t d = 0;
  while (d < inner.size() && inner[d] == 1) ++d;
  for (++d; d < inner.size(); ++d)
    if (inner[d] != shard[d]) return false;
  return true;
}

Result<std::unique_ptr<ShardingCodec>> IndexedShard::make(const ChunkSpec& chunk, const ShardingSpec& spec) {
  const Shape& shape = chunk.shape;
  if (chunk.dtype.size_bytes == 0)
    return Error(ErrorCode::unsupported, fmt::format("elements of no size ({})", chunk.dtype.name()));
  Shape grid(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) grid[d] = shape[d] / spec.chunk_shape[d];
  Shape index_shape = grid;
  index_shape.push_back(2);
  PENSTOCK_ASSIGN_IN(CodecChain inner, CodecChain::make(spec.codecs, {spec.chunk_shape, chunk.dtype, chunk.fill}),
                     "codecs");
  PENSTOCK_ASSIGN_IN(CodecChain index, CodecChain::make(spec.index_codecs, {index_shape, DType::uint64(), {}}),
                     "index_codecs");
  if (!index.encoded_size())
    return bad_configuration(
        fmt::format("index_codecs: {} gives no fixed size, so that the index could not be found", index.text()));
  std::unique_ptr<IndexedShard> shard(new IndexedShard(std::move(inner), std::move(index)));
  PENSTOCK_ASSIGN(shard->count_, element_count(grid));
  PENSTOCK_ASSIGN(shard->shard_strides_, c_strides(shape, chunk.dtype.size_bytes));
  PENSTOCK_ASSIGN(shard->inner_strides_, c_strides(spec.chunk_shape, chunk.dtype.size_bytes));
  ShardingSpec complete = spec;
  PENSTOCK_ASSIGN(complete.codecs, shard->inner_.complete(spec.codecs, 3));
  PENSTOCK_ASSIGN(complete.index_codecs, shard->index_.complete(spec.index_codecs, 3));
  PENSTOCK_ASSIGN(shard->spec_, complete.print());
  shard->contiguous_ = is_contiguous(spec.chunk_shape, shape);
  shard->grid_ = std::move(grid);
  shard->index_bytes_ = *shard->index_.encoded_size();
  shard->location_ = spec.index_location;
  if (const auto inner_most = shard->inner_.max_encoded_size()) {
    const auto body = checked_mul(*inner_most, shard->count_);
    if (const auto all = body ? checked_add(*body, shard->index_bytes_) : body) shard->max_encoded_size_ = *all;
  }
  shard->shard_ = chunk;
  return std::unique_ptr<ShardingCodec>(std::move(shard));
}

Result<std::vector<ShardEntry>> IndexedShard::decode_index(ByteView index, std::uint64_t shard_bytes) const {
  if (shard_bytes < index_bytes_) return too_short(shard_bytes);
  if (index.size() != index_bytes_)
    return corrupt(fmt::format("the index has {} bytes, {} are needed", index.size(), index_bytes_));
  std::vector<ShardEntry> entries(count_);  // no larger than the bytes that are here
  ScratchLease lease;
  PENSTOCK_TRY_IN(index_.decode(index, entry_bytes(entries), lease->scratch, {}), "index");
  const std::uint64_t begin = body_begin();
  PENSTOCK_TRY(check_entries(entries, {begin, begin + (shard_bytes - index_bytes_)}, grid_));
  return entries;
}

Status IndexedShard::encode_index(std::span<const ShardEntry> entries, Bytes& out) const {
  if (entries.size() != count_) return Error(ErrorCode::internal, "encode_index: wrong number of entries");
  ScratchLease lease;
  PENSTOCK_TRY_IN(index_.encode(std::as_bytes(entries), out, lease->scratch), "index");
  if (out.size() != index_bytes_) return Error(ErrorCode::internal, "the shard index has the wrong size");
  return {};
}

template <class F>
Status IndexedShard::for_each_inner(F&& each) const {
  Shape at(grid_.size());
  for (std::uint64_t i = 0; i < count_; ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      offset += static_cast<std::int64_t>(at[d] * inner_shape()[d]) * shard_strides_[d];
    PENSTOCK_TRY(each(i, offset));
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < grid_[d]) break;
      at[d] = 0;
    }
  }
  return {};
}

bool IndexedShard::is_fill(ByteView chunk) const {
  const std::size_t item = shard_.dtype.size_bytes;
  if (chunk.empty()) return true;
  if (shard_.dtype.is_vlen()) {
    for (std::size_t i = 0; i < chunk.size(); i += item) {
      VlenRef ref;
      std::memcpy(&ref, chunk.data() + i, sizeof ref);
      if (!same_text(ref, shard_.fill)) return false;
    }
    return true;
  }
  const bool first_is_fill = shard_.fill.empty()
                                 ? std::all_of(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(item),
                                               [](std::byte b) { return b == std::byte{0}; })
                                 : std::memcmp(chunk.data(), shard_.fill.data(), item) == 0;
  // Every element equals the one before it.
  return first_is_fill && std::memcmp(chunk.data(), chunk.data() + item, chunk.size() - item) == 0;
}

Status IndexedShard::fill_chunk(ByteSpan chunk, const DecodeContext& context) const {
  if (chunk.empty()) return {};
  if (shard_.fill.empty()) {
    std::memset(chunk.data(), 0, chunk.size());
    return {};
  }
  VlenRef text;
  const std::byte* element = shard_.fill.data();
  if (shard_.dtype.is_vlen()) {
    if (context.arena == nullptr) return Error(ErrorCode::internal, "variable-length elements need an arena");
    PENSTOCK_ASSIGN(Bytes copy, Bytes::copy_of(shard_.fill));
    const ByteView kept = context.arena->keep(std::move(copy));
    text = {kept.data(), kept.size()};
    element = reinterpret_cast<const std::byte*>(&text);
  }
  const std::size_t item = shard_.dtype.size_bytes;
  for (std::size_t i = 0; i < chunk.size(); i += item) std::memcpy(chunk.data() + i, element, item);
  return {};
}

Status IndexedShard::encode(ByteView in, Bytes& out) const {
  std::vector<ShardEntry> entries(count_);
  ScratchLease lease;
  PENSTOCK_TRY(lease->chunk.resize_discard(inner_.decoded_size()));
  PENSTOCK_TRY(out.resize_discard(body_begin()));
  const auto encode_one = [&](std::uint64_t i, std::int64_t offset) -> Status {
    ByteView chunk = lease->chunk.view();
    if (contiguous_)
      chunk = in.subspan(static_cast<std::size_t>(offset), inner_.decoded_size());
    else
      copy_strided(lease->chunk.data(), inner_strides_, in.data() + offset, shard_strides_, inner_shape(),
                   shard_.dtype.size_bytes);
    if (is_fill(chunk)) return {};
    PENSTOCK_TRY_IN(inner_.encode(chunk, lease->encoded, lease->scratch), fmt::format("inner chunk {}", i));
    entries[i] = {out.size(), lease->encoded.size()};
    return out.append(lease->encoded);
  };
  PENSTOCK_TRY(for_each_inner(encode_one));
  PENSTOCK_TRY(encode_index(entries, lease->encoded));
  if (location_ == IndexLocation::end) return out.append(lease->encoded);
  std::memcpy(out.data(), lease->encoded.data(), index_bytes_);
  return {};
}

Status IndexedShard::decode(ByteView in, ByteSpan out, const DecodeContext& context) const {
  if (in.size() < index_bytes_) return too_short(in.size());
  const std::uint64_t index_at = location_ == IndexLocation::start ? 0 : in.size() - index_bytes_;
  PENSTOCK_ASSIGN(const std::vector<ShardEntry> entries, decode_index(in.subspan(index_at, index_bytes_), in.size()));
  ScratchLease lease;
  const ChunkLayout& layout = inner_.chunk_layout();
  const std::uint64_t inner_size = inner_.decoded_size();
  Bytes empty_chunk;  // made when the first absent chunk is met
  if (!contiguous_) PENSTOCK_TRY(lease->chunk.resize_discard(inner_size));
  return for_each_inner([&](std::uint64_t i, std::int64_t offset) -> Status {
    std::byte* to = out.data() + offset;
    const ShardEntry& e = entries[i];
    const std::byte* from = lease->chunk.data();
    const Strides* strides = &inner_strides_;
    if (e.absent()) {
      if (contiguous_) return fill_chunk({to, inner_size}, context);
      if (empty_chunk.empty()) {
        PENSTOCK_TRY(empty_chunk.resize_discard(inner_size));
        PENSTOCK_TRY(fill_chunk(empty_chunk.span(), context));
      }
      from = empty_chunk.data();
    } else {
      const ByteView bytes = in.subspan(e.offset, e.size);
      const auto where = [&] { return fmt::format("inner chunk {} at byte {}", i, e.offset); };
      if (contiguous_) {
        PENSTOCK_TRY_IN(inner_.decode(bytes, {to, inner_size}, lease->scratch, context), where());
        return {};
      }
      if (layout.swap) {
        PENSTOCK_TRY_IN(inner_.decode(bytes, lease->chunk.span(), lease->scratch, context), where());
      } else {
        PENSTOCK_TRY_IN(inner_.decode_to_layout(bytes, lease->chunk.span(), lease->scratch, context), where());
        strides = &layout.strides;
      }
    }
    copy_strided(to, shard_strides_, from, *strides, inner_shape(), shard_.dtype.size_bytes);
    return {};
  });
}

}  // namespace

Result<std::unique_ptr<ShardingCodec>> make_sharding(const ChunkSpec& shard, const ShardingSpec& spec) {
  return IndexedShard::make(shard, spec);
}

}  // namespace penstock

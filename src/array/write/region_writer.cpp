#include "array/write/region_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "array/assemble/place.hpp"
#include "array/index/key_index.hpp"
#include "array/index/shard_index.hpp"
#include "array/plan/bound_region.hpp"
#include "array/plan/encoded_chunk.hpp"
#include "array/write/chunk_blocks.hpp"
#include "core/checked.hpp"

namespace penstock {
namespace {

using ChunkSliceArray = std::array<ChunkSlice, kMaxRank>;

/// Whether the segments touch every element that the array has in this chunk.  `origin`: first element of the chunk.
bool covers(std::span<const ChunkSlice> segments, const Shape& chunk_shape, std::span<const std::uint64_t> origin,
            const Shape& array_shape) {
  for (std::size_t d = 0; d < segments.size(); ++d) {
    const std::uint64_t here = std::min(chunk_shape[d], array_shape[d] - origin[d]);
    if (segments[d].count != here || (segments[d].count > 1 && segments[d].step != 1 && segments[d].step != -1))
      return false;
  }
  return true;
}

bool same_element(const DType& dtype, const std::byte* a, const std::byte* b) {
  if (!dtype.is_vlen()) return std::memcmp(a, b, dtype.size_bytes) == 0;
  VlenRef x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x.size == y.size && (x.size == 0 || std::memcmp(x.data, y.data, x.size) == 0);
}

constexpr const char* kNotReadable = "the chunk is to be changed in part, and what it holds cannot be read";

/// The encoded chunk as it was; false when there is none.
Result<bool> read_old(const Store& store, const std::string& key, const CodecChain& chain, Bytes& out) {
  PENSTOCK_ASSIGN(const auto object, store.open(key));
  if (!object) return false;
  PENSTOCK_TRY_IN(check_encoded_size(chain, object->size_bytes()), kNotReadable);
  PENSTOCK_TRY(out.resize_discard(object->size_bytes()));
  PENSTOCK_TRY(object->read(0, out.span()));
  return true;
}

}  // namespace

/// What a shard held before, for the parts that stay.
struct RegionWriter::OldShard {
  std::vector<ChunkRef> chunks;  // none: there was no shard

  static Result<OldShard> locate(Array::State& state, const ArrayView& view, const Piece& piece, Job& job);
  /// The encoded chunk as it was; empty when absent.
  Status read(const Store& store, const CodecChain& chain, std::uint64_t linear, Bytes& out, Job& job) const;
};

Result<RegionWriter::OldShard> RegionWriter::OldShard::locate(Array::State& state, const ArrayView& view,
                                                              const Piece& piece, Job& job) {
  const ShardingCodec& sharding = *view.chain.sharding();
  const ShardIndex index(std::make_unique<KeyIndex>(state.path, *view.dataset.keys()), sharding, state.indexes);
  const Shape& grid = sharding.inner_grid();
  ChunkIds ids(grid.size());
  std::array<std::uint64_t, kMaxRank> at{};
  for (std::uint64_t i = 0; i < sharding.inner_count(); ++i) {
    std::uint64_t rest = i;
    for (std::size_t d = grid.size(); d-- > 0; rest /= grid[d])
      at[d] = piece.segments[d].chunk * grid[d] + rest % grid[d];
    ids.add({at.data(), grid.size()});
  }
  OldShard old;
  old.chunks.resize(ids.size());
  Fetcher fetcher(*state.store, job.worker(), job.stop(), state.store->traits(piece.key).requests_in_flight);
  PENSTOCK_TRY(locate_chunks(index, ids, fetcher, old.chunks));
  if (old.chunks.front().error) return *std::move(old.chunks.front().error);
  if (!old.chunks.front().inner) old.chunks.clear();
  return old;
}

Status RegionWriter::OldShard::read(const Store& store, const CodecChain& chain, std::uint64_t linear, Bytes& out,
                                    Job& job) const {
  out.clear();
  if (chunks.empty() || chunks[linear].state == ChunkRef::State::absent) return {};
  const ChunkRef& ref = chunks[linear];
  PENSTOCK_TRY_IN(check_encoded_size(chain, ref.size_bytes), fmt::format("inner chunk {}", linear));
  PENSTOCK_TRY(out.resize_discard(ref.size_bytes));
  const FetchRequest request{ref.holder->key, ByteRange::span(ref.offset_bytes, ref.size_bytes), ref.holder->same_as()};
  const FetchAnswer answer = fetch_one(store, request, out.span(), job.stop());
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return Error(ErrorCode::changed, "the object was removed meanwhile");
  if (answer.bytes.data() != out.data() && !answer.bytes.empty())
    std::memcpy(out.data(), answer.bytes.data(), answer.bytes.size());
  return {};
}

Result<RegionWriter> RegionWriter::make(const Array& array, const Region& region, const Target& source) {
  RegionWriter writer;
  writer.state_ = ArrayAccess::share(array);
  writer.view_ = writer.state_->current();
  const Dataset& dataset = writer.view_->dataset;
  PENSTOCK_TRY(writer.state_->check_writable(dataset));
  PENSTOCK_TRY(check_region(region, dataset.shape));
  PENSTOCK_ASSIGN(writer.cut_, GridPartition::make(region, dataset.chunk_shape));
  writer.data_ = static_cast<const std::byte*>(source.data);
  writer.strides_ = source.strides;
  if (source.strides.empty()) {
    PENSTOCK_ASSIGN(writer.strides_, c_strides(shape_of(region), dataset.dtype.size_bytes));
  } else if (source.strides.size() != region.size()) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} strides for {} dimensions", source.strides.size(), region.size()));
  }
  writer.fill_arena_ = std::make_shared<Arena>();
  PENSTOCK_ASSIGN(writer.fill_, fill_element(dataset, writer.fill_arena_.get()));
  return writer;
}

const CodecChain& RegionWriter::encoder() const {
  if (quick_) return *quick_;
  const ShardingCodec* sharding = view_->chain.sharding();
  return sharding != nullptr ? sharding->inner() : view_->chain;
}

WriteNeed RegionWriter::need() const {
  const CodecChain& chain = view_->chain;
  // Data that codecs cannot make smaller becomes larger by their headers, and buffers are rounded up.
  const auto encoded = [](const CodecChain& c) { return saturating_add(c.decoded_size(), c.decoded_size() / 8 + 64); };
  const auto one = [&](const CodecChain& c) {
    return saturating_add(saturating_add(c.decoded_size(), encoded(c)), c.scratch_bytes());
  };
  const ShardingCodec* sharding = chain.sharding();
  const bool waits = state_->store->options().durable == Durable::all;
  if (sharding == nullptr) return {one(chain), 0, waits};
  // All encoded chunks of a shard are held until it is stored.
  const std::uint64_t chunks = saturating_mul(sharding->inner_count(), encoded(sharding->inner()));
  return {one(sharding->inner()), saturating_add(chunks, sharding->index_bytes()), waits};
}

const std::byte* RegionWriter::source_of(std::span<const ChunkSlice> segments, const std::byte* base) const {
  for (std::size_t d = 0; d < segments.size(); ++d)
    base += static_cast<std::int64_t>(segments[d].out_start) * strides_[d];
  return base;
}

Status RegionWriter::fill_chunk(ByteSpan chunk) const {
  const Range all{0, chunk.size() / fill_.size(), 1};
  const auto stride = static_cast<std::int64_t>(fill_.size());
  PlaceItem item;
  item.part = {&all, 1};
  item.target = chunk.data();
  item.source_strides = item.target_strides = {&stride, 1};
  item.item_bytes = static_cast<std::uint32_t>(fill_.size());
  item.fill = fill_;
  return place_cpu(item);
}

Status RegionWriter::gather(std::span<const ChunkSlice> segments, const CodecChain& chain, const std::byte* from,
                            ByteSpan chunk) const {
  std::array<Range, kMaxRank> part;
  std::array<std::int64_t, kMaxRank> strides{};
  const std::size_t rank = segments.size();
  std::byte* to = chunk.data();
  auto stride = static_cast<std::int64_t>(fill_.size());
  for (std::size_t d = rank; d-- > 0;) {
    part[d] = {0, segments[d].count, 1};
    strides[d] = stride * segments[d].step;
    to += static_cast<std::int64_t>(segments[d].local_start) * stride;
    stride *= static_cast<std::int64_t>(chain.decoded().shape[d]);
  }
  PlaceItem item;
  item.source = from;
  item.source_strides = strides_;
  item.part = {part.data(), rank};
  item.target = to;
  item.target_strides = {strides.data(), rank};
  item.item_bytes = static_cast<std::uint32_t>(fill_.size());
  item.next_use = PlaceItem::NextUse::soon;
  return place_cpu(item);
}

bool RegionWriter::is_all_fill(ByteView chunk) const {
  const std::size_t item = fill_.size();
  const DType& dtype = view_->dataset.dtype;
  if (chunk.empty() || !same_element(dtype, chunk.data(), fill_.data())) return false;
  if (dtype.is_vlen()) {
    for (std::size_t at = item; at < chunk.size(); at += item)
      if (!same_element(dtype, chunk.data() + at, fill_.data())) return false;
    return true;
  }
  // The first element is the fill value and each equals the one before it.
  return std::memcmp(chunk.data(), chunk.data() + item, chunk.size() - item) == 0;
}

/// Whether the source holds the whole chunk as encoding wants it: C order, nothing in between, aligned.
bool RegionWriter::lies_whole(const CodecChain& chain, std::span<const ChunkSlice> segments,
                              const std::byte* from) const {
  constexpr std::uintptr_t kAlign = 16;  // of the largest element that codecs load whole
  if (reinterpret_cast<std::uintptr_t>(from) % kAlign != 0) return false;
  const Shape& shape = chain.decoded().shape;
  std::uint64_t stride = fill_.size();
  for (std::size_t d = segments.size(); d-- > 0;) {
    if (segments[d].count != shape[d] || segments[d].step != 1) return false;
    if (shape[d] > 1 && strides_[d] != static_cast<std::int64_t>(stride)) return false;
    stride *= shape[d];
  }
  return true;
}

/// The chunk's elements as encoding wants them: in the source itself, or gathered in worker.decoded, around them what
/// the chunk held before (`have_old`: it is there already) or the fill value.
Result<ByteView> RegionWriter::take_chunk(Worker& worker, const CodecChain& chain, std::span<const ChunkSlice> segments,
                                          const std::byte* from, bool have_old) const {
  if (lies_whole(chain, segments, from)) return ByteView(from, chain.decoded_size());
  const StageClock clock(worker, Stage::assemble);
  PENSTOCK_TRY(worker.decoded.resize_discard(chain.decoded_size()));
  bool full = true;
  for (std::size_t d = 0; d < segments.size(); ++d) full = full && segments[d].count == chain.decoded().shape[d];
  if (!have_old && !full) PENSTOCK_TRY(fill_chunk(worker.decoded.span()));
  PENSTOCK_TRY(gather(segments, chain, from, worker.decoded.span()));
  return worker.decoded.view();
}

/// Encodes a chunk that is written whole and that the encoder takes piece by piece.  False: it is not one, or seems to
/// be nothing but the fill value.
Result<bool> RegionWriter::encode_pieces(Worker& worker, const CodecChain& chain, std::span<const ChunkSlice> segments,
                                         const std::byte* from) const {
  const std::uint64_t piece_bytes = chain.piece_bytes();
  const Shape& shape = chain.decoded().shape;
  if (piece_bytes == 0 || piece_bytes % fill_.size() != 0 || shape.empty()) return false;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (segments[d].count != shape[d] || segments[d].step != 1) return false;
  const bool whole = lies_whole(chain, segments, from);
  ChunkPieces pieces(worker, shape, strides_, fill_.size(), from,
                     whole ? ByteView(from, chain.decoded_size()) : ByteView());
  const StageClock clock(worker, Stage::encode);
  PENSTOCK_ASSIGN(const ByteView first, pieces.piece(0, piece_bytes));
  if (is_all_fill(first)) return false;
  PENSTOCK_TRY(chain.encode_pieces(pieces, worker.encoded));
  return true;
}

/// The encoded chunk, in worker.encoded unless encoding changes nothing.  nullopt: it is nothing but the fill value,
/// and such a chunk is not kept.
Result<std::optional<ByteView>> RegionWriter::encode_chunk(Worker& worker, const CodecChain& chain,
                                                           std::span<const ChunkSlice> segments, const std::byte* from,
                                                           bool have_old, bool keep_fill) const {
  PENSTOCK_ASSIGN(const bool encoded, encode_pieces(worker, chain, segments, from));
  if (encoded) return std::optional(worker.encoded.view());
  PENSTOCK_ASSIGN(const ByteView chunk, take_chunk(worker, chain, segments, from, have_old));
  if (!keep_fill && is_all_fill(chunk)) return std::optional<ByteView>();
  if (chain.encodes_as_is()) return std::optional(chunk);
  const StageClock clock(worker, Stage::encode);
  PENSTOCK_TRY(chain.encode(chunk, worker.encoded, worker.scratch));
  return std::optional(worker.encoded.view());
}

Status RegionWriter::write_chunk(Job& job, const std::string& key, std::span<const ChunkSlice> segments,
                                 const std::byte* from, bool covered) const {
  const CodecChain& chain = view_->chain;
  Store& store = *state_->store;
  std::unique_ptr<ObjectLock> lock;
  if (!covered) {
    PENSTOCK_ASSIGN(lock, lock_object(job, key, LockUse::change));
  }
  Worker& worker = job.worker();
  worker.chunks += 1;
  Arena old_elements;
  bool have_old = false;
  if (!covered) {
    const StageClock clock(worker, Stage::fetch);
    PENSTOCK_ASSIGN(have_old, read_old(store, key, chain, worker.encoded));
    worker.requests += 1;
    PENSTOCK_TRY(worker.decoded.resize_discard(chain.decoded_size()));
    if (have_old)
      PENSTOCK_TRY_IN(chain.decode(worker.encoded, worker.decoded.span(), worker.scratch, {&old_elements}),
                      kNotReadable);
  }
  PENSTOCK_ASSIGN(const std::optional<ByteView> encoded,
                  encode_chunk(worker, encoder(), segments, from, have_old, job.options().store_fill_chunks));
  if (covered) {
    PENSTOCK_ASSIGN(lock, lock_object(job, key, LockUse::replace));
  }
  if (!encoded) {
    worker.absent += 1;
    return store.erase(key);
  }
  return put_chunk(job, key, *encoded);
}

Result<std::unique_ptr<ObjectLock>> RegionWriter::lock_object(Job& job, const std::string& key, LockUse use) const {
  return state_->store->lock(key, use, [&job] { return job.check(); });
}

Status RegionWriter::store_chunk(Job& job, const std::string& key, ByteView encoded) const {
  PENSTOCK_ASSIGN(const auto lock, lock_object(job, key, LockUse::replace));
  return put_chunk(job, key, encoded);
}

Status RegionWriter::put_chunk(Job& job, const std::string& key, ByteView encoded) const {
  if (encoded.empty()) return state_->store->erase(key);
  Worker& worker = job.worker();
  const StageClock clock(worker, Stage::store);
  worker.requests += 1;
  worker.stored_bytes += encoded.size();
  return state_->store->set(key, encoded);
}

Status RegionWriter::encode_inner(Job& job, const OldShard& old, std::uint64_t linear,
                                  std::span<const ChunkSlice> segments, const std::byte* from,
                                  std::span<const std::uint64_t> origin, Bytes& out) const {
  const ShardingCodec& sharding = *view_->chain.sharding();
  const CodecChain& chain = sharding.inner();
  Worker& worker = job.worker();
  worker.chunks += 1;
  Arena old_elements;
  bool have_old = false;
  if (!covers(segments, sharding.inner_shape(), origin, view_->dataset.shape)) {
    PENSTOCK_TRY(old.read(*state_->store, chain, linear, worker.encoded, job));
    have_old = !worker.encoded.empty();
    PENSTOCK_TRY(worker.decoded.resize_discard(chain.decoded_size()));
    if (have_old) PENSTOCK_TRY(chain.decode(worker.encoded, worker.decoded.span(), worker.scratch, {&old_elements}));
  }
  PENSTOCK_ASSIGN(const std::optional<ByteView> encoded,
                  encode_chunk(worker, encoder(), segments, from, have_old, false));
  if (!encoded) {
    worker.absent += 1;
    out.clear();
    return {};
  }
  if (out.capacity() < encoded->size()) out.release();  // no larger than it must be: it is kept until the last shard
  return out.append(*encoded);
}

Status RegionWriter::store_shard(Job& job, const std::string& key, const ShardingCodec& sharding,
                                 std::span<const Bytes> chunks) const {
  PENSTOCK_ASSIGN(const auto lock, lock_object(job, key, LockUse::replace));
  return put_shard(job, key, sharding, chunks);
}

Status RegionWriter::put_shard(Job& job, const std::string& key, const ShardingCodec& sharding,
                               std::span<const Bytes> chunks) const {
  std::vector<ShardEntry> entries(chunks.size());
  std::vector<ByteView> parts;
  const bool index_first = sharding.index_location() == ShardingCodec::IndexLocation::start;
  std::uint64_t offset = index_first ? sharding.index_bytes() : 0;
  if (index_first) parts.emplace_back();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].empty()) continue;
    entries[i] = {offset, chunks[i].size()};
    offset += chunks[i].size();
    parts.push_back(chunks[i].view());
  }
  if (parts.size() == (index_first ? 1u : 0u)) return state_->store->erase(key);
  Bytes index;
  PENSTOCK_TRY(sharding.encode_index(entries, index));
  if (index_first)
    parts.front() = index.view();
  else
    parts.push_back(index.view());
  Worker& worker = job.worker();
  const StageClock clock(worker, Stage::store);
  worker.requests += 1;
  for (const ByteView p : parts) worker.stored_bytes += p.size();
  return state_->store->set_parts(key, parts);
}

Result<GridPartition> RegionWriter::cut_shard(std::span<const ChunkSlice> segments) const {
  Region local;
  for (const ChunkSlice& s : segments) local.push_back({s.local_start, s.count, s.step});
  return GridPartition::make(local, view_->chain.sharding()->inner_shape());
}

RegionWriter::InnerPiece RegionWriter::inner_piece(const GridPartition& cut, std::uint64_t i,
                                                   std::span<const ChunkSlice> segments, const std::byte* from) const {
  const ShardingCodec& sharding = *view_->chain.sharding();
  InnerPiece inner;
  const std::span<ChunkSlice> parts(inner.segments.data(), segments.size());
  cut.get(i, parts);
  for (std::size_t d = 0; d < parts.size(); ++d) {
    inner.linear = inner.linear * sharding.inner_grid()[d] + parts[d].chunk;
    inner.origin[d] = segments[d].chunk * view_->dataset.chunk_shape[d] + parts[d].chunk * sharding.inner_shape()[d];
  }
  inner.from = source_of(parts, from);
  return inner;
}

Status RegionWriter::write_shard(Job& job, const Piece& piece) const {
  const std::string& key = piece.key;
  const std::span<const ChunkSlice> segments(piece.segments.data(), cut_.rank());
  const ShardingCodec& sharding = *view_->chain.sharding();
  std::unique_ptr<ObjectLock> lock;
  OldShard old;
  if (!piece.covered) {
    PENSTOCK_ASSIGN(lock, lock_object(job, key, LockUse::change));
    PENSTOCK_ASSIGN(old, OldShard::locate(*state_, *view_, piece, job));
  }
  PENSTOCK_ASSIGN(const GridPartition cut, cut_shard(segments));
  // Of this thread: for_each below runs no other shard on it.
  std::vector<Bytes>& chunks = job.worker().shard_chunks;
  chunks.resize(sharding.inner_count());
  for (Bytes& chunk : chunks) chunk.clear();
  std::vector<char> touched(sharding.inner_count(), 0);  // not vector<bool>: set from many threads
  const auto encode = [&](std::uint64_t i) -> Status {
    const InnerPiece inner = inner_piece(cut, i, segments, piece.from);
    touched[inner.linear] = 1;
    const std::size_t rank = segments.size();
    return encode_inner(job, old, inner.linear, {inner.segments.data(), rank}, inner.from, {inner.origin.data(), rank},
                        chunks[inner.linear]);
  };
  PENSTOCK_TRY(job.for_each(cut.size(), true, encode));
  if (!old.chunks.empty()) {
    const auto keep = [&](std::uint64_t linear) -> Status {
      if (touched[linear]) return {};
      return old.read(*state_->store, sharding.inner(), linear, chunks[linear], job);
    };
    PENSTOCK_TRY(job.for_each(chunks.size(), true, keep));
  }
  return piece.covered ? store_shard(job, key, sharding, chunks) : put_shard(job, key, sharding, chunks);
}

RegionWriter::Piece RegionWriter::piece(std::uint64_t i) const {
  Piece piece;
  const std::span<ChunkSlice> segments(piece.segments.data(), cut_.rank());
  cut_.get(i, segments);
  const Dataset& dataset = view_->dataset;
  std::array<std::uint64_t, kMaxRank> chunk{};
  for (std::size_t d = 0; d < segments.size(); ++d) {
    chunk[d] = segments[d].chunk;
    piece.origin[d] = chunk[d] * dataset.chunk_shape[d];
    piece.elements *= segments[d].count;
  }
  piece.key = state_->key(dataset, {chunk.data(), segments.size()});
  piece.covered = covers(segments, dataset.chunk_shape, {piece.origin.data(), segments.size()}, dataset.shape);
  piece.from = source_of(segments, data_);
  return piece;
}

Error RegionWriter::named(Error error, const std::string& key) const {
  if (error.message().find(key) == std::string::npos) error.add_context(state_->store->url() + "/" + key);
  return error;
}

Status RegionWriter::write_object(Job& job, std::uint64_t i) const {
  const Piece p = piece(i);
  const std::span<const ChunkSlice> segments(p.segments.data(), cut_.rank());
  Status status = view_->chain.sharding() ? write_shard(job, p) : write_chunk(job, p.key, segments, p.from, p.covered);
  if (!status) return named(std::move(status).error(), p.key);
  job.advance(p.elements * view_->dataset.dtype.size_bytes);
  return {};
}

}  // namespace penstock

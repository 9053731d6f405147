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
#include "array/write/contention.hpp"
#include "core/checked.hpp"
#include "store/condition.hpp"
#include "store/fetch_one.hpp"

namespace penstock {
namespace {

bool same_element(const DType& dtype, const std::byte* a, const std::byte* b) {
  if (!dtype.is_vlen()) return std::memcmp(a, b, dtype.size_bytes) == 0;
  VlenRef x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x.size == y.size && (x.size == 0 || std::memcmp(x.data, y.data, x.size) == 0);
}

constexpr const char* kNotReadable = "the chunk is to be changed in part, and what it holds cannot be read";

}  // namespace

/// What the chunks of an object held before, for the parts that stay.
struct RegionWriter::OldChunks {
  std::vector<ChunkRef> chunks;  // none: there was no object, or nobody wants to know
  /// Of the write of what is changed: where the store looks itself, what was read must still stand; elsewhere the lock
  /// sees to it.
  WriteCondition condition;

  /// Sets the condition.
  Status bind(const Store& store, const std::string& key);
  static Result<OldChunks> locate(Array::State& state, const ArrayView& view, const Piece& piece, Job& job);
  /// The encoded chunk as it was; empty when absent.
  Status read(const Store& store, const CodecChain& chain, std::uint64_t linear, Bytes& out, Job& job) const;
};

Result<RegionWriter::OldChunks> RegionWriter::OldChunks::locate(Array::State& state, const ArrayView& view,
                                                                const Piece& piece, Job& job) {
  const std::size_t rank = view.dataset.rank();
  std::unique_ptr<const ChunkIndex> index = std::make_unique<KeyIndex>(state.path, *view.dataset.keys());
  const ShardingCodec* const sharding = view.chain.sharding();
  const bool by_condition = dynamic_cast<const AtomicConditions*>(state.store.get()) != nullptr;
  ShardIndexCache none;  // a condition wants the version that stands, not the one that was seen last
  if (sharding != nullptr)
    index = std::make_unique<ShardIndex>(std::move(index), *sharding, by_condition ? none : state.indexes);
  const Shape grid = sharding != nullptr ? sharding->inner_grid() : Shape(rank, 1);
  OldChunks old;
  old.chunks.resize(sharding != nullptr ? sharding->inner_count() : 1);
  ChunkIds ids(rank);
  std::array<std::uint64_t, kMaxRank> at{};
  for (std::uint64_t i = 0; i < old.chunks.size(); ++i) {
    std::uint64_t rest = i;
    for (std::size_t d = rank; d-- > 0; rest /= grid[d]) at[d] = piece.segments[d].chunk * grid[d] + rest % grid[d];
    ids.add({at.data(), rank});
  }
  Fetcher fetcher(*state.store, job.worker(), job.stop(), state.store->traits(piece.key).requests_in_flight);
  PENSTOCK_TRY(locate_chunks(*index, ids, fetcher, old.chunks));
  if (old.chunks.front().error) return *std::move(old.chunks.front().error);
  if (sharding != nullptr && !old.chunks.front().inner) old.chunks.clear();
  if (by_condition) PENSTOCK_TRY(old.bind(*state.store, piece.key));
  return old;
}

Status RegionWriter::OldChunks::bind(const Store& store, const std::string& key) {
  if (!chunks.empty() && chunks.front().state == ChunkRef::State::whole_object) {  // nobody has looked at it
    FetchAnswer answer = probe(store, key);
    PENSTOCK_TRY(answer.status);
    if (answer.absent)
      chunks.clear();
    else
      chunks.front().holder = std::make_shared<const ChunkHolder>(ChunkHolder{key, {}, std::move(answer.version)});
  }
  condition = chunks.empty() ? WriteCondition::absent() : WriteCondition::same_as(chunks.front().holder->version);
  return {};
}

Status RegionWriter::OldChunks::read(const Store& store, const CodecChain& chain, std::uint64_t linear, Bytes& out,
                                     Job& job) const {
  out.clear();
  if (chunks.empty() || chunks[linear].state == ChunkRef::State::absent) return {};
  const ChunkRef& ref = chunks[linear];
  const bool is_object = ref.state == ChunkRef::State::whole_object;
  const auto fits = [&](std::uint64_t bytes) -> Status {
    PENSTOCK_TRY_IN(check_encoded_size(chain, bytes), is_object ? kNotReadable : ref.path());
    return {};
  };
  if (!is_object) PENSTOCK_TRY(fits(ref.size_bytes));
  const StageClock clock(job.worker(), Stage::fetch);
  job.worker().requests += 1;
  const ByteRange range = is_object ? ByteRange() : ByteRange::span(ref.offset_bytes, ref.size_bytes);
  const FetchAnswer answer = fetch_one(store, {ref.holder->key, range, ref.holder->same_as()}, out, fits, job.stop());
  PENSTOCK_TRY(answer.status);
  if (answer.absent && !is_object) return Error(ErrorCode::changed, "the object was removed meanwhile");
  return {};
}

Result<RegionWriter> RegionWriter::make(const Array& array, const Region& region, const Target& source) {
  const Array::State& state = ArrayAccess::state(array);
  PENSTOCK_TRY(state.check_writable(state.current()->dataset));
  RegionWriter writer;
  writer.fill_arena_ = std::make_shared<Arena>();
  PENSTOCK_ASSIGN(writer.region_, BoundRegion::make(array, region, source, writer.fill_arena_.get()));
  return writer;
}

/// Whether the region has every element that the array has in this chunk.
bool RegionWriter::covers(const Part& part, const Shape& chunk_shape) const {
  const Shape& array_shape = view().dataset.shape;
  for (std::size_t d = 0; d < chunk_shape.size(); ++d) {
    const ChunkSlice& s = part.segments[d];
    const std::uint64_t here = std::min(chunk_shape[d], array_shape[d] - part.origin[d]);
    if (s.count != here || (s.count > 1 && s.step != 1 && s.step != -1)) return false;
  }
  return true;
}

const CodecChain& RegionWriter::encoder() const {
  if (quick_) return *quick_;
  const ShardingCodec* sharding = view().chain.sharding();
  return sharding != nullptr ? sharding->inner() : view().chain;
}

WriteNeed RegionWriter::need() const {
  const CodecChain& chain = view().chain;
  // Data that codecs cannot make smaller becomes larger by their headers, and buffers are rounded up.
  const auto encoded = [](const CodecChain& c) { return saturating_add(c.decoded_size(), c.decoded_size() / 8 + 64); };
  const auto one = [&](const CodecChain& c) {
    return saturating_add(saturating_add(c.decoded_size(), encoded(c)), c.scratch_bytes());
  };
  const ShardingCodec* sharding = chain.sharding();
  const bool waits = state().store->options().durable == Durable::all;
  if (sharding == nullptr) return {one(chain), 0, waits};
  // All encoded chunks of a shard are held until it is stored.
  const std::uint64_t chunks = saturating_mul(sharding->inner_count(), encoded(sharding->inner()));
  return {one(sharding->inner()), saturating_add(chunks, sharding->index_bytes()), waits};
}

Status RegionWriter::fill_chunk(ByteSpan chunk) const {
  const Range all{0, chunk.size() / fill().size(), 1};
  const auto stride = static_cast<std::int64_t>(fill().size());
  PlaceItem item;
  item.part = {&all, 1};
  item.target = chunk.data();
  item.source_strides = item.target_strides = {&stride, 1};
  item.item_bytes = static_cast<std::uint32_t>(fill().size());
  item.fill = region_.fill;
  return place_cpu(item);
}

Status RegionWriter::gather(const Part& source, const CodecChain& chain, ByteSpan chunk) const {
  const std::array<ChunkSlice, kMaxRank>& segments = source.segments;
  std::array<Range, kMaxRank> part;
  std::array<std::int64_t, kMaxRank> strides{};
  const std::size_t rank = region_.rank();
  std::byte* to = chunk.data();
  auto stride = static_cast<std::int64_t>(fill().size());
  for (std::size_t d = rank; d-- > 0;) {
    part[d] = {0, segments[d].count, 1};
    strides[d] = stride * segments[d].step;
    to += static_cast<std::int64_t>(segments[d].local_start) * stride;
    stride *= static_cast<std::int64_t>(chain.decoded().shape[d]);
  }
  PlaceItem item;
  item.source = source.from;
  item.source_strides = region_.strides;
  item.part = {part.data(), rank};
  item.target = to;
  item.target_strides = {strides.data(), rank};
  item.item_bytes = static_cast<std::uint32_t>(fill().size());
  item.next_use = PlaceItem::NextUse::soon;
  return place_cpu(item);
}

bool RegionWriter::is_all_fill(ByteView chunk) const {
  const std::size_t item = fill().size();
  const DType& dtype = view().dataset.dtype;
  if (chunk.empty() || !same_element(dtype, chunk.data(), fill().data())) return false;
  if (dtype.is_vlen()) {
    for (std::size_t at = item; at < chunk.size(); at += item)
      if (!same_element(dtype, chunk.data() + at, fill().data())) return false;
    return true;
  }
  // The first element is the fill value and each equals the one before it.
  return std::memcmp(chunk.data(), chunk.data() + item, chunk.size() - item) == 0;
}

/// Whether the source holds the whole chunk as encoding wants it: C order, nothing in between, aligned.
bool RegionWriter::lies_whole(const CodecChain& chain, const Part& part) const {
  constexpr std::uintptr_t kAlign = 16;  // of the largest element that codecs load whole
  if (reinterpret_cast<std::uintptr_t>(part.from) % kAlign != 0) return false;
  const Shape& shape = chain.decoded().shape;
  std::uint64_t stride = fill().size();
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (part.segments[d].count != shape[d] || part.segments[d].step != 1) return false;
    if (shape[d] > 1 && strides()[d] != static_cast<std::int64_t>(stride)) return false;
    stride *= shape[d];
  }
  return true;
}

/// The chunk's elements as encoding wants them: in the source itself, or gathered in worker.decoded, around them what
/// the chunk held before (`have_old`: it is there already) or the fill value.
Result<ByteView> RegionWriter::take_chunk(Worker& worker, const CodecChain& chain, const Part& part,
                                          bool have_old) const {
  if (lies_whole(chain, part)) return ByteView(part.from, chain.decoded_size());
  const StageClock clock(worker, Stage::assemble);
  PENSTOCK_TRY(worker.decoded.resize_discard(chain.decoded_size()));
  bool full = true;
  for (std::size_t d = 0; d < region_.rank(); ++d) full = full && part.segments[d].count == chain.decoded().shape[d];
  if (!have_old && !full) PENSTOCK_TRY(fill_chunk(worker.decoded.span()));
  PENSTOCK_TRY(gather(part, chain, worker.decoded.span()));
  return worker.decoded.view();
}

/// Encodes a chunk that is written whole and that the encoder takes piece by piece.  False: it is not one, or seems to
/// be nothing but the fill value.
Result<bool> RegionWriter::encode_pieces(Worker& worker, const CodecChain& chain, const Part& part) const {
  const std::uint64_t piece_bytes = chain.piece_bytes();
  const Shape& shape = chain.decoded().shape;
  if (piece_bytes == 0 || piece_bytes % fill().size() != 0 || shape.empty()) return false;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (part.segments[d].count != shape[d] || part.segments[d].step != 1) return false;
  const bool whole = lies_whole(chain, part);
  ChunkPieces pieces(worker, shape, strides(), fill().size(), part.from,
                     whole ? ByteView(part.from, chain.decoded_size()) : ByteView());
  const StageClock clock(worker, Stage::encode);
  PENSTOCK_ASSIGN(const ByteView first, pieces.piece(0, piece_bytes));
  if (is_all_fill(first)) return false;
  PENSTOCK_TRY(chain.encode_pieces(pieces, worker.encoded));
  return true;
}

/// The encoded chunk, in worker.encoded unless encoding changes nothing.  nullopt: it is nothing but the fill value,
/// and such a chunk is not kept.
Result<std::optional<ByteView>> RegionWriter::encode_chunk(Worker& worker, const CodecChain& chain, const Part& part,
                                                           bool have_old, bool keep_fill) const {
  PENSTOCK_ASSIGN(const bool encoded, encode_pieces(worker, chain, part));
  if (encoded) return std::optional(worker.encoded.view());
  PENSTOCK_ASSIGN(const ByteView chunk, take_chunk(worker, chain, part, have_old));
  if (!keep_fill && is_all_fill(chunk)) return std::optional<ByteView>();
  if (chain.encodes_as_is()) return std::optional(chunk);
  const StageClock clock(worker, Stage::encode);
  PENSTOCK_TRY(chain.encode(chunk, worker.encoded, worker.scratch));
  return std::optional(worker.encoded.view());
}

Result<std::unique_ptr<ObjectLock>> RegionWriter::lock_object(Job& job, const std::string& key, LockUse use) const {
  return state().store->lock(key, use, [&job] { return job.check(); });
}

Status RegionWriter::store_chunk(Job& job, const std::string& key, ByteView encoded) const {
  PENSTOCK_ASSIGN(const auto lock, lock_object(job, key, LockUse::replace));
  return put_chunk(job, key, encoded, WriteCondition::any());
}

Status RegionWriter::put_chunk(Job& job, const std::string& key, ByteView encoded,
                               const WriteCondition& condition) const {
  if (encoded.empty()) return state().store->erase(key);
  Worker& worker = job.worker();
  const StageClock clock(worker, Stage::store);
  worker.requests += 1;
  worker.stored_bytes += encoded.size();
  if (condition.kind == WriteCondition::Kind::any) return state().store->set(key, encoded);
  return state().store->set_if(key, {&encoded, 1}, condition, job.stop());
}

/// Encodes what becomes of a chunk, as encode_chunk does.
Result<std::optional<ByteView>> RegionWriter::encode_part(Job& job, const OldChunks& old, const Part& part,
                                                          bool keep_fill) const {
  const ShardingCodec* const sharding = view().chain.sharding();
  const CodecChain& chain = sharding != nullptr ? sharding->inner() : view().chain;
  Worker& worker = job.worker();
  worker.chunks += 1;
  Arena old_elements;
  bool have_old = false;
  if (!covers(part, chain.decoded().shape)) {
    PENSTOCK_TRY(old.read(*state().store, chain, part.linear, worker.encoded, job));
    have_old = !worker.encoded.empty();
    PENSTOCK_TRY(worker.decoded.resize_discard(chain.decoded_size()));
    if (have_old)
      PENSTOCK_TRY_IN(chain.decode(worker.encoded, worker.decoded.span(), worker.scratch, {&old_elements}),
                      kNotReadable);
  }
  PENSTOCK_ASSIGN(const std::optional<ByteView> encoded, encode_chunk(worker, encoder(), part, have_old, keep_fill));
  if (!encoded) worker.absent += 1;
  return encoded;
}

Status RegionWriter::store_shard(Job& job, const std::string& key, const ShardingCodec& sharding,
                                 std::span<const Bytes> chunks) const {
  PENSTOCK_ASSIGN(const auto lock, lock_object(job, key, LockUse::replace));
  return put_shard(job, key, sharding, chunks, WriteCondition::any());
}

Status RegionWriter::put_shard(Job& job, const std::string& key, const ShardingCodec& sharding,
                               std::span<const Bytes> chunks, const WriteCondition& condition) const {
  const bool by_condition = condition.kind != WriteCondition::Kind::any;
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
  // Nothing can be removed by condition: a shard of nothing stays, with its index.
  if (parts.size() == (index_first ? 1u : 0u) && !by_condition) return state().store->erase(key);
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
  if (by_condition) return state().store->set_if(key, parts, condition, job.stop());
  return state().store->set_parts(key, parts);
}

Result<RegionWriter::Piece> RegionWriter::piece(std::uint64_t i) const {
  Piece piece;
  const std::size_t rank = region_.rank();
  const std::span<ChunkSlice> segments(piece.segments.data(), rank);
  region_.objects.get(i, segments);
  const Dataset& dataset = view().dataset;
  std::array<std::uint64_t, kMaxRank> chunk{};
  for (std::size_t d = 0; d < rank; ++d) {
    chunk[d] = segments[d].chunk;
    piece.origin[d] = chunk[d] * dataset.chunk_shape[d];
    piece.elements *= segments[d].count;
  }
  piece.key = state().key(dataset, {chunk.data(), rank});
  piece.covered = covers(piece, dataset.chunk_shape);
  piece.from = region_.target_of(segments, region_.target);
  if (const ShardingCodec* sharding = view().chain.sharding()) {
    Region local;
    for (const ChunkSlice& s : segments) local.push_back({s.local_start, s.count, s.step});
    PENSTOCK_ASSIGN(piece.inner, GridPartition::make(local, sharding->inner_shape()));
  }
  return piece;
}

std::uint64_t RegionWriter::parts(const Piece& piece) const { return is_sharded() ? piece.inner.size() : 1; }

RegionWriter::Part RegionWriter::part(const Piece& piece, std::uint64_t i) const {
  const ShardingCodec* const sharding = view().chain.sharding();
  if (sharding == nullptr) return piece;
  Part part;
  const std::span<ChunkSlice> segments(part.segments.data(), region_.rank());
  piece.inner.get(i, segments);
  for (std::size_t d = 0; d < segments.size(); ++d) {
    part.linear = part.linear * sharding->inner_grid()[d] + segments[d].chunk;
    part.origin[d] = piece.origin[d] + segments[d].chunk * sharding->inner_shape()[d];
  }
  part.from = region_.target_of(segments, const_cast<std::byte*>(piece.from));
  return part;
}

Status RegionWriter::write_chunk(Job& job, const Piece& piece, const OldChunks& old) const {
  // Nothing can be removed by condition: such a chunk stays, of fill values.
  const bool keep_fill = job.options().store_fill_chunks || old.condition.kind != WriteCondition::Kind::any;
  PENSTOCK_ASSIGN(const std::optional<ByteView> encoded, encode_part(job, old, piece, keep_fill));
  const ByteView stored = encoded.value_or(ByteView());
  return piece.covered ? store_chunk(job, piece.key, stored) : put_chunk(job, piece.key, stored, old.condition);
}

Status RegionWriter::write_shard(Job& job, const Piece& piece, const OldChunks& old) const {
  const ShardingCodec& sharding = *view().chain.sharding();
  // Of this thread: for_each below runs no other shard on it.
  std::vector<Bytes>& chunks = job.worker().shard_chunks;
  chunks.resize(sharding.inner_count());
  for (Bytes& chunk : chunks) chunk.clear();
  std::vector<char> touched(sharding.inner_count(), 0);  // not vector<bool>: set from many threads
  const auto encode = [&](std::uint64_t i) -> Status {
    const Part inner = part(piece, i);
    touched[inner.linear] = 1;
    PENSTOCK_ASSIGN(const std::optional<ByteView> encoded, encode_part(job, old, inner, false));
    if (!encoded) return {};
    Bytes& out = chunks[inner.linear];
    if (out.capacity() < encoded->size()) out.release();  // no larger than it must be: it is kept until the last shard
    return out.append(*encoded);
  };
  PENSTOCK_TRY(job.for_each(piece.inner.size(), true, encode));
  const auto keep = [&](std::uint64_t linear) -> Status {
    if (touched[linear]) return {};
    return old.read(*state().store, sharding.inner(), linear, chunks[linear], job);
  };
  PENSTOCK_TRY(job.for_each(old.chunks.size(), true, keep));
  return piece.covered ? store_shard(job, piece.key, sharding, chunks)
                       : put_shard(job, piece.key, sharding, chunks, old.condition);
}

Error RegionWriter::named(Error error, const std::string& key) const {
  if (error.message().find(key) == std::string::npos) error.add_context(state().store->url() + "/" + key);
  return error;
}

Status RegionWriter::write_object(Job& job, std::uint64_t i) const {
  PENSTOCK_ASSIGN(const Piece p, piece(i));
  const auto write = [&]() -> Status {
    if (p.covered) return is_sharded() ? write_shard(job, p, {}) : write_chunk(job, p, {});
    PENSTOCK_ASSIGN(const auto lock, lock_object(job, p.key, LockUse::change));
    PENSTOCK_ASSIGN(const OldChunks old, OldChunks::locate(*region_.state, view(), p, job));
    return is_sharded() ? write_shard(job, p, old) : write_chunk(job, p, old);
  };
  if (Status status = change_until_done(*state().store, job, write); !status)
    return named(std::move(status).error(), p.key);
  job.advance(p.elements * region_.item_bytes);
  return {};
}

}  // namespace penstock

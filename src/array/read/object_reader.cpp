#include "array/read/object_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "array/index/leaf.hpp"
#include "array/read/encoded_chunk.hpp"

namespace penstock {

/// An encoded chunk or shard: a part of an object.
struct ObjectReader::Source {
  std::shared_ptr<const Object> object;
  std::uint64_t offset;
  std::uint64_t size;
};

namespace {

/// A part of a region in one chunk, and where it goes.
struct Destination {
  const RegionReader* region;
  std::span<const ChunkSlice> segments;
  std::byte* out;

  [[nodiscard]] Status fill() const { return region->place_fill(segments, out); }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t bytes = region->item_bytes();
    for (const ChunkSlice& s : segments) bytes *= s.count;
    return bytes;
  }
};

Region local_region(std::span<const ChunkSlice> segments) {
  Region region;
  region.reserve(segments.size());
  for (const ChunkSlice& s : segments) region.push_back({s.local_start, s.count, s.step});
  return region;
}

}  // namespace

/// All landings in one chunk or shard.
struct ObjectReader::Destinations {
  std::size_t rank = 0;
  std::vector<const RegionReader*> regions;
  std::vector<std::byte*> outs;
  std::vector<ChunkSlice> segments;  // `rank` for each

  [[nodiscard]] std::size_t size() const { return regions.size(); }
  Destination operator[](std::size_t i) const {
    return {regions[i], std::span(segments).subspan(i * rank, rank), outs[i]};
  }
  void add(const RegionReader& region, std::span<const ChunkSlice> of_region, std::byte* out) {
    rank = of_region.size();
    regions.push_back(&region);
    outs.push_back(out);
    segments.insert(segments.end(), of_region.begin(), of_region.end());
  }
};

/// An open shard and what is wanted of it.
struct ObjectReader::Shard {
  /// One landing touches one inner chunk.
  struct Touch {
    std::uint64_t linear;  // inner chunk
    std::uint64_t piece;   // of the landing's cut
    std::uint32_t landing;
  };
  /// Touches that one request serves: those of a chunk, or of several that lie close together.
  struct Run {
    std::size_t first, last;
    std::uint64_t offset, bytes;
  };

  Source source;
  const ShardingCodec& sharding;
  Destinations landings;
  std::string key;   // of the object
  std::string name;  // and of the shard inside it, when shards are nested
  ShardIndexCache::Index index;
  std::vector<GridPartition> cuts;  // of the landings, along the inner chunks
  std::vector<Touch> touches;       // in the order of the bytes; absent chunks last
  std::vector<Run> runs;

  [[nodiscard]] const ShardEntry& entry(const Touch& touch) const { return (*index)[touch.linear]; }
  Status find_touches();
  void find_runs(std::uint64_t gap_bytes, std::uint64_t max_bytes);
  /// The end of the touches of the chunk that touch `first` is of.
  [[nodiscard]] std::size_t chunk_end(std::size_t first) const {
    std::size_t end = first + 1;
    while (end < touches.size() && touches[end].linear == touches[first].linear) ++end;
    return end;
  }
  /// What a touch wants of its inner chunk.
  [[nodiscard]] Destination landing(const Touch& touch, ChunkSliceArray& buffer) const {
    const Destination around = landings[touch.landing];
    const std::span<ChunkSlice> segments(buffer.data(), landings.rank);
    cuts[touch.landing].get(touch.piece, segments);
    return {around.region, segments, around.region->target_of(segments, around.out)};
  }
};

/// The touches [first, last) of one inner chunk.
struct ObjectReader::InnerGroup {
  std::size_t first, last;
};

Status ObjectReader::Shard::find_touches() {
  ChunkSliceArray buffer;
  const std::span<ChunkSlice> segments(buffer.data(), landings.rank);
  for (std::uint32_t l = 0; l < landings.size(); ++l) {
    PENSTOCK_ASSIGN(GridPartition cut, GridPartition::make(local_region(landings[l].segments), sharding.inner_shape()));
    for (std::uint64_t i = 0; i < cut.size(); ++i) {
      cut.get(i, segments);
      std::uint64_t linear = 0;
      for (std::size_t d = 0; d < segments.size(); ++d) linear = linear * sharding.inner_grid()[d] + segments[d].chunk;
      touches.push_back({linear, i, l});
    }
    cuts.push_back(std::move(cut));
  }
  const auto before = [&](const Touch& a, const Touch& b) {
    const std::uint64_t x = entry(a).offset, y = entry(b).offset;  // ~0 when absent
    return x != y ? x < y : a.linear < b.linear;
  };
  if (!std::is_sorted(touches.begin(), touches.end(), before)) std::stable_sort(touches.begin(), touches.end(), before);
  return {};
}

void ObjectReader::Shard::find_runs(std::uint64_t gap_bytes, std::uint64_t max_bytes) {
  for (std::size_t first = 0; first < touches.size();) {
    const std::size_t last = chunk_end(first);
    const ShardEntry& e = entry(touches[first]);
    Run* before = runs.empty() ? nullptr : &runs.back();
    // Closer than the gap: with a gap of 0 not even neighbours are read together.
    const bool joins = before != nullptr && before->bytes > 0 && !e.absent() &&
                       e.offset - (before->offset + before->bytes) < gap_bytes &&
                       e.offset + e.size - before->offset <= max_bytes;
    if (joins) {
      before->last = last;
      before->bytes = e.offset + e.size - before->offset;
    } else {
      runs.push_back({first, last, e.offset, e.absent() ? 0 : e.size});
    }
    first = last;
  }
}

/// Reads and decodes a chunk, puts it to all its landings, landing(k) for k in [0, landings), and counts them done.
/// `fetched`: its encoded bytes, if they were read already.
template <class At>
Status ObjectReader::read_leaf(const Source& source, const std::byte* fetched, const CodecChain& chain,
                               std::size_t landings, const At& landing) const {
  Worker& worker = job_.worker();
  worker.chunks += 1;
  PENSTOCK_TRY(check_encoded_size(chain, source.size));
  std::optional<ByteView> encoded =
      fetched != nullptr ? ByteView(fetched, source.size) : source.object->view(source.offset, source.size);
  if (fetched == nullptr) worker.requests += 1;
  ChunkSliceArray buffer;
  if (chain.is_uncompressed() &&
      !encoded) {  // only what is asked for is read, and straight to its place where it can be
    for (std::size_t k = 0; k < landings; ++k) {
      const Destination l = landing(k, buffer);
      const bool whole = l.region->takes_whole(chain, l.segments);
      const ByteExtent extent = touched_bytes(chain.chunk_layout(), l.segments, l.region->item_bytes());
      {
        const StageClock clock(worker, Stage::fetch);
        const std::uint64_t count = whole ? source.size : extent.last - extent.first;
        worker.stored_bytes += count;
        worker.requests += k > 0 ? 1 : 0;
        if (whole) {
          PENSTOCK_TRY(source.object->read(source.offset, {l.out, count}));
          job_.advance(count);
          continue;
        }
        PENSTOCK_TRY(worker.encoded.resize_discard(count));
        PENSTOCK_TRY(source.object->read(source.offset + extent.first, worker.encoded.span()));
      }
      const StageClock clock(worker, Stage::assemble);
      PartArray part(l.segments);
      part.to_front();
      PENSTOCK_TRY(l.region->place(worker.encoded.data(), chain.chunk_layout(), part, l.out));
      job_.advance(l.bytes());
    }
    return {};
  }
  if (fetched == nullptr) worker.stored_bytes += source.size;
  if (!encoded) {
    const StageClock clock(worker, Stage::fetch);
    PENSTOCK_TRY(worker.encoded.resize_discard(source.size));
    PENSTOCK_TRY(source.object->read(source.offset, worker.encoded.span()));
    encoded = worker.encoded.view();
  }
  const std::byte* raw = encoded->data();
  if (!chain.is_uncompressed()) {
    const StageClock clock(worker, Stage::decode);
    const Destination l = landing(0, buffer);
    Arena discarded;
    const DecodeContext context{l.region->discards() ? &discarded : l.region->arena()};
    if (landings == 1 && l.region->takes_whole(chain, l.segments)) {
      PENSTOCK_TRY(chain.decode_to_layout(*encoded, {l.out, chain.decoded_size()}, worker.scratch, context));
      job_.advance(chain.decoded_size());
      return {};
    }
    PENSTOCK_TRY(worker.decoded.resize_discard(chain.decoded_size()));
    PENSTOCK_TRY(chain.decode_to_layout(*encoded, worker.decoded.span(), worker.scratch, context));
    raw = worker.decoded.data();
  }
  const StageClock clock(worker, Stage::assemble);
  for (std::size_t k = 0; k < landings; ++k) {
    const Destination l = landing(k, buffer);
    PENSTOCK_TRY(l.region->place(raw, chain.chunk_layout(), PartArray(l.segments), l.out));
    job_.advance(l.bytes());
  }
  return {};
}

/// What could not be read is an error, or the fill value and a problem in the report.
Status ObjectReader::give_up(const Shard& shard, const InnerGroup& group, Error error) const {
  const RegionReader& region = *shard.landings[0].region;
  error.add_context(fmt::format("inner chunk {}", shard.touches[group.first].linear));
  if (on_error_ == OnError::fail || ends_work(error)) {
    if (error.message().find(shard.key) == std::string::npos)
      error.add_context(region.state().store->url() + "/" + shard.key);
    return error;
  }
  ChunkSliceArray buffer;
  for (std::size_t t = group.first; t < group.last; ++t) {
    const Destination l = shard.landing(shard.touches[t], buffer);
    PENSTOCK_TRY(l.fill());
    job_.advance(l.bytes());
  }
  job_.add_problem(shard.key, error.message());
  return {};
}

/// A shard inside a shard.  Rare, so that regions share nothing here.
Status ObjectReader::read_nested(const Shard& shard, const InnerGroup& group) const {
  const ShardEntry& entry = shard.entry(shard.touches[group.first]);
  const std::uint64_t linear = shard.touches[group.first].linear;
  const Source part{shard.source.object, shard.source.offset + entry.offset, entry.size};
  ChunkSliceArray buffer;
  for (std::size_t t = group.first; t < group.last; ++t) {
    const Destination l = shard.landing(shard.touches[t], buffer);
    Destinations one;
    one.add(*l.region, l.segments, l.out);
    Status status = open_shard(part, shard.sharding.inner(), std::move(one), shard.key,
                               fmt::format("{} inner chunk {}", shard.name, linear));
    if (!status) PENSTOCK_TRY(give_up(shard, {t, t + 1}, std::move(status).error()));
  }
  return {};
}

Status ObjectReader::read_inner(const Shard& shard, const InnerGroup& group, const std::byte* fetched) const {
  const ShardEntry& entry = shard.entry(shard.touches[group.first]);
  if (!entry.absent() && shard.sharding.inner().sharding()) return read_nested(shard, group);
  const auto landing = [&](std::size_t k, ChunkSliceArray& buffer) {
    return shard.landing(shard.touches[group.first + k], buffer);
  };
  const std::size_t landings = group.last - group.first;
  if (entry.absent()) {
    Worker& worker = job_.worker();
    worker.chunks += 1;
    worker.absent += 1;
    ChunkSliceArray buffer;
    for (std::size_t k = 0; k < landings; ++k) {
      const Destination l = landing(k, buffer);
      PENSTOCK_TRY(l.fill());
      job_.advance(l.bytes());
    }
    return {};
  }
  const Source part{shard.source.object, shard.source.offset + entry.offset, entry.size};
  Status status = read_leaf(part, fetched, shard.sharding.inner(), landings, landing);
  if (!status) return give_up(shard, group, std::move(status).error());
  return {};
}

Status ObjectReader::read_run(const Shard& shard, std::size_t run) const {
  const Shard::Run& r = shard.runs[run];
  const std::size_t first_end = shard.chunk_end(r.first);
  if (first_end == r.last) return read_inner(shard, {r.first, r.last}, nullptr);
  Worker& worker = job_.worker();
  bool fetched = false;
  {
    const StageClock clock(worker, Stage::fetch);
    PENSTOCK_TRY(worker.encoded.resize_discard(r.bytes));
    worker.requests += 1;
    worker.stored_bytes += r.bytes;
    // When it fails the chunks are read one by one: the error is then that of a chunk.
    fetched = shard.source.object->read(shard.source.offset + r.offset, worker.encoded.span()).has_value();
  }
  for (std::size_t first = r.first; first < r.last;) {
    const std::size_t last = shard.chunk_end(first);
    const std::uint64_t at = shard.entry(shard.touches[first]).offset - r.offset;
    PENSTOCK_TRY(read_inner(shard, {first, last}, fetched ? worker.encoded.data() + at : nullptr));
    worker.merged += fetched && first > r.first ? 1 : 0;
    first = last;
  }
  return {};
}

Status ObjectReader::open_shard(Source source, const CodecChain& chain, Destinations landings, std::string key,
                                std::string name) const {
  const ShardingCodec& sharding = *chain.sharding();
  Array::State& state = landings[0].region->state();
  auto index = shard_index(state, job_.worker(), *source.object, source.offset, source.size, sharding, name);
  if (!index) {
    job_.worker().chunks += 1;  // the shard as a whole is one chunk that cannot be read
    return std::move(index).error();
  }
  auto shard = std::make_shared<Shard>(Shard{std::move(source),
                                             sharding,
                                             std::move(landings),
                                             std::move(key),
                                             std::move(name),
                                             *std::move(index),
                                             {},
                                             {},
                                             {}});
  PENSTOCK_TRY(shard->find_touches());
  // Raw chunks go straight to their place, unless requests are dear.
  const bool in_memory = shard->source.object->view(0, 0).has_value();
  const bool mergeable = !sharding.inner().sharding() && !in_memory;
  shard->find_runs(mergeable ? state.store->merge_gap_bytes() : 0, merge_bytes_);
  const std::size_t runs = shard->runs.size();
  return flow_.add(runs, [this, shard = std::shared_ptr<const Shard>(std::move(shard))](std::uint64_t i) {
    return read_run(*shard, i);
  });
}

Status ObjectReader::read_object(const std::string& key, Destinations landings) const {
  const RegionReader& region = *landings[0].region;
  std::shared_ptr<const Object> object;
  {
    const StageClock clock(job_.worker(), Stage::fetch);
    auto opened = region.state().store->open(key);
    if (!opened) {
      job_.worker().chunks += 1;
      return std::move(opened).error();
    }
    object = *std::move(opened);
  }
  if (!object) {
    Worker& worker = job_.worker();
    worker.chunks += 1;
    worker.absent += 1;
    for (std::size_t k = 0; k < landings.size(); ++k) {
      PENSTOCK_TRY(landings[k].fill());
      job_.advance(landings[k].bytes());
    }
    return {};
  }
  Source source{std::move(object), 0, 0};
  source.size = source.object->size_bytes();
  const CodecChain& chain = region.view().chain;
  // Of a raw chunk or a shard only parts are read, which no checksum of the whole sees.
  if (region.discards() && (chain.sharding() || chain.is_uncompressed())) {
    if (Status checked = source.object->check(); !checked) {
      job_.worker().chunks += 1;
      return checked;
    }
  }
  if (chain.sharding()) return open_shard(std::move(source), chain, std::move(landings), key, key);
  return read_leaf(source, nullptr, chain, landings.size(),
                   [&](std::size_t k, ChunkSliceArray& /*unused*/) { return landings[k]; });
}

Status ObjectReader::read(std::span<const Part> parts) const {
  const RegionReader& region = *parts.front().region;
  ChunkSliceArray buffer;
  const std::span<ChunkSlice> segments(buffer.data(), region.rank());
  Destinations landings;
  for (const Part& part : parts) {
    std::byte* out = part.region->locate(part.object, segments);
    landings.add(*part.region, segments, out);
  }
  std::array<std::uint64_t, kMaxRank> chunk{};
  for (std::size_t d = 0; d < segments.size(); ++d) chunk[d] = segments[d].chunk;
  const std::string key = region.state().key(region.view().dataset, {chunk.data(), segments.size()});
  Status status = read_object(key, std::move(landings));
  if (status) return {};
  Error error = std::move(status).error();
  if (ends_work(error)) return error;
  if (on_error_ == OnError::fail) {
    // Errors of the store, and of inner chunks, name the object themselves.
    if (error.message().find(key) == std::string::npos) error.add_context(region.state().store->url() + "/" + key);
    return error;
  }
  for (const Part& part : parts) {
    const Destination l{part.region, segments, part.region->locate(part.object, segments)};
    PENSTOCK_TRY(l.fill());
    job_.advance(l.bytes());
  }
  job_.add_problem(key, error.message());
  return {};
}

}  // namespace penstock

#include "array/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "array/chunk_io.hpp"
#include "array/leaf.hpp"
#include "array/place/place.hpp"
#include "core/checked.hpp"

namespace penstock {
namespace {

using SegmentArray = std::array<Segment, kMaxRank>;

Region local_region(std::span<const Segment> segments) {
  Region region;
  for (const Segment& s : segments) region.push_back({s.local_start, s.count, s.step});
  return region;
}

}  // namespace

const CodecChain& innermost(const CodecChain& chain) {
  const CodecChain* c = &chain;
  while (const ShardingCodec* sharding = c->sharding()) c = &sharding->inner();
  return *c;
}

Result<std::vector<std::byte>> fill_element(const Dataset& dataset, Arena* arena) {
  const std::size_t item = dataset.dtype.size_bytes;
  std::vector<std::byte> element(item);
  if (!dataset.dtype.is_vlen()) {
    const Kind kind = dataset.dtype.kind;
    if (!dataset.fill.empty()) {
      std::memcpy(element.data(), dataset.fill.data(), item);
    } else if ((kind == Kind::datetime || kind == Kind::timedelta) && item == sizeof(std::int64_t)) {
      constexpr auto not_a_time = std::numeric_limits<std::int64_t>::min();
      std::memcpy(element.data(), &not_a_time, item);
    }
    return element;
  }
  VlenRef ref;
  if (!dataset.fill.empty() && arena != nullptr) {
    PENSTOCK_ASSIGN(Bytes copy, Bytes::copy_of(dataset.fill));
    const ByteView kept = arena->keep(std::move(copy));
    ref = {kept.data(), kept.size()};
  }
  std::memcpy(element.data(), &ref, sizeof ref);
  return element;
}

Result<RegionReader> RegionReader::make(const Array& array, const Region& region, const Target& target, Arena* arena) {
  RegionReader reader;
  Array::State& state = ArrayAccess::state(array);
  reader.view_ = state.current();
  const Dataset& dataset = reader.view_->dataset;
  PENSTOCK_TRY(check_region(region, dataset.shape));
  if (dataset.dtype.is_vlen() && arena == nullptr)
    return Error(ErrorCode::invalid_argument, "variable-length elements need an arena to live in");
  reader.state_ = ArrayAccess::share(array);
  PENSTOCK_ASSIGN(reader.cut_, CutRegion::make(region, dataset.chunk_shape));
  reader.data_ = static_cast<std::byte*>(target.data);
  reader.strides_ = target.strides;
  if (target.strides.empty()) {
    PENSTOCK_ASSIGN(reader.strides_, c_strides(shape_of(region), dataset.dtype.size_bytes));
  } else if (target.strides.size() != region.size()) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} strides for {} dimensions", target.strides.size(), region.size()));
  }
  reader.arena_ = arena;
  reader.swaps_ = swap_runs(dataset.dtype);
  PENSTOCK_ASSIGN(reader.fill_, fill_element(dataset, arena));
  return reader;
}

Result<RegionReader> RegionReader::make_discarding(const Array& array) {
  Arena arena;  // make() wants one for variable-length elements; each chunk gets its own below
  PENSTOCK_ASSIGN(RegionReader reader, make(array, whole(array.dataset().shape), Target{}, &arena));
  reader.discard_ = true;
  reader.arena_ = nullptr;
  return reader;
}

std::uint64_t RegionReader::bytes_per_worker() const {
  const CodecChain& chain = innermost(view_->chain);
  const std::uint64_t decoded = chain.decoded_size();
  if (chain.is_raw()) return decoded;
  const std::uint64_t encoded = longest_encoding(chain).value_or(2 * decoded);
  return std::min(encoded, decoded + decoded / 8 + 4096) + decoded + chain.scratch_bytes();
}

std::byte* RegionReader::target_of(std::span<const Segment> segments, std::byte* base) const {
  if (discard_) return nullptr;
  for (std::size_t d = 0; d < segments.size(); ++d)
    base += static_cast<std::int64_t>(segments[d].out_start) * strides_[d];
  return base;
}

/// The whole chunk goes to contiguous memory as it is decoded.
bool RegionReader::lands_whole(const CodecChain& chain, std::span<const Segment> segments) const {
  const RawLayout& layout = chain.raw_layout();
  if (discard_ || layout.swap || !layout.c_order) return false;
  const Shape& shape = chain.decoded().shape;
  for (std::size_t d = 0; d < segments.size(); ++d) {
    if (segments[d].count != shape[d] || segments[d].step != 1) return false;
    if (shape[d] > 1 && strides_[d] != layout.strides[d]) return false;
  }
  return true;
}

Status RegionReader::place(const std::byte* raw, const RawLayout& layout, std::span<const Range> part,
                           std::byte* out) const {
  if (discard_) return {};
  PlaceItem item;
  item.source = raw;
  item.source_strides = layout.strides;
  item.part = part;
  item.target = out;
  item.target_strides = strides_;
  item.item_bytes = view_->dataset.dtype.size_bytes;
  if (layout.swap) item.swaps = swaps_;
  item.fill = fill_;
  return place_cpu(item);
}

Status RegionReader::place_fill(std::span<const Segment> segments, std::byte* out) const {
  return place(nullptr, view_->chain.raw_layout(), PartArray(segments), out);
}

Status RegionReader::decode_and_place(Worker& worker, ByteView encoded, const CodecChain& chain,
                                      std::span<const Segment> segments, std::byte* out) const {
  Arena discarded;
  const DecodeContext context{discard_ ? &discarded : arena_};
  if (lands_whole(chain, segments)) {
    const StageClock clock(worker, Stage::decode);
    return chain.decode_raw(encoded, {out, chain.decoded_size()}, worker.scratch, context);
  }
  {
    const StageClock clock(worker, Stage::decode);
    PENSTOCK_TRY(worker.raw.resize_discard(chain.decoded_size()));
    PENSTOCK_TRY(chain.decode_raw(encoded, worker.raw.span(), worker.scratch, context));
  }
  const StageClock clock(worker, Stage::assemble);
  return place(worker.raw.data(), chain.raw_layout(), PartArray(segments), out);
}

Status RegionReader::read_chunk(Job& job, const Source& source, const CodecChain& chain,
                                std::span<const Segment> segments, std::byte* out) const {
  Worker& worker = job.worker();
  worker.chunks += 1;
  worker.requests += 1;
  PENSTOCK_TRY(check_encoded_size(chain, source.size));
  const auto view = source.object->view(source.offset, source.size);
  if (chain.is_raw() && !view) {  // only what is asked for is read, and straight to its place where it can be
    const bool whole_chunk = lands_whole(chain, segments);
    const ByteExtent extent = touched_bytes(chain.raw_layout(), segments, view_->dataset.dtype.size_bytes);
    {
      const StageClock clock(worker, Stage::fetch);
      const std::uint64_t count = whole_chunk ? source.size : extent.last - extent.first;
      worker.stored_bytes += count;
      if (whole_chunk) return source.object->read(source.offset, {out, count});
      PENSTOCK_TRY(worker.encoded.resize_discard(count));
      PENSTOCK_TRY(source.object->read(source.offset + extent.first, worker.encoded.span()));
    }
    const StageClock clock(worker, Stage::assemble);
    PartArray part(segments);
    part.to_front();
    return place(worker.encoded.data(), chain.raw_layout(), part, out);
  }
  worker.stored_bytes += source.size;
  if (view) {
    if (!chain.is_raw()) return decode_and_place(worker, *view, chain, segments, out);
    const StageClock clock(worker, Stage::assemble);
    return place(view->data(), chain.raw_layout(), PartArray(segments), out);
  }
  {
    const StageClock clock(worker, Stage::fetch);
    PENSTOCK_TRY(worker.encoded.resize_discard(source.size));
    PENSTOCK_TRY(source.object->read(source.offset, worker.encoded.span()));
  }
  return decode_and_place(worker, worker.encoded, chain, segments, out);
}

Status RegionReader::read_shard(Job& job, const Source& source, const CodecChain& chain,
                                std::span<const Segment> segments, std::byte* out, const std::string& key,
                                OnError on_error, bool parallel) const {
  const ShardingCodec& sharding = *chain.sharding();
  auto found = shard_index(*state_, job.worker(), *source.object, source.offset, source.size, sharding, key);
  if (!found) {
    job.worker().chunks += 1;  // the shard as a whole is one chunk that cannot be read
    return std::move(found).error();
  }
  const ShardIndexCache::Index index = *std::move(found);
  PENSTOCK_ASSIGN(const CutRegion cut, CutRegion::make(local_region(segments), sharding.inner_shape()));
  const CodecChain& inner = sharding.inner();
  const auto read_inner = [&](std::uint64_t i) -> Status {
    SegmentArray buffer;
    const std::span<Segment> parts(buffer.data(), segments.size());
    cut.get(i, parts);
    std::uint64_t linear = 0;
    for (std::size_t d = 0; d < parts.size(); ++d) linear = linear * sharding.inner_grid()[d] + parts[d].chunk;
    std::byte* to = target_of(parts, out);
    const ShardEntry& entry = (*index)[linear];
    std::uint64_t elements = 1;
    for (const Segment& s : parts) elements *= s.count;
    if (entry.absent()) {
      Worker& worker = job.worker();
      worker.chunks += 1;
      worker.absent += 1;
      PENSTOCK_TRY(place_fill(parts, to));
    } else {
      const Source part{source.object, source.offset + entry.offset, entry.size};
      Status status;
      if (inner.sharding()) {
        status =
            read_shard(job, part, inner, parts, to, fmt::format("{} inner chunk {}", key, linear), on_error, parallel);
      } else {
        status = read_chunk(job, part, inner, parts, to);
      }
      if (!status) {
        Error error = std::move(status).error();
        error.add_context(fmt::format("inner chunk {}", linear));
        if (on_error == OnError::fail || error.code() == ErrorCode::cancelled) return error;
        PENSTOCK_TRY(place_fill(parts, to));
        job.add_problem(key, error.message());
      }
    }
    if (!inner.sharding()) job.advance(elements * view_->dataset.dtype.size_bytes);
    return {};
  };
  return job.for_each(cut.size(), parallel, read_inner);
}

Status RegionReader::read_object(Job& job, std::uint64_t i, OnError on_error, bool parallel) const {
  SegmentArray buffer;
  const std::span<Segment> segments(buffer.data(), cut_.rank());
  cut_.get(i, segments);
  std::array<std::uint64_t, kMaxRank> chunk{};
  std::uint64_t elements = 1;
  for (std::size_t d = 0; d < segments.size(); ++d) {
    chunk[d] = segments[d].chunk;
    elements *= segments[d].count;
  }
  const std::string key = state_->key(view_->dataset, {chunk.data(), segments.size()});
  std::byte* out = target_of(segments, data_);
  const std::uint64_t bytes = elements * view_->dataset.dtype.size_bytes;

  const auto read = [&]() -> Status {
    std::unique_ptr<Object> object;
    {
      const StageClock clock(job.worker(), Stage::fetch);
      auto opened = state_->store->open(key);
      if (!opened) {
        job.worker().chunks += 1;
        return std::move(opened).error();
      }
      object = *std::move(opened);
    }
    if (!object) {
      Worker& worker = job.worker();
      worker.chunks += 1;
      worker.absent += 1;
      PENSTOCK_TRY(place_fill(segments, out));
      job.advance(bytes);
      return {};
    }
    const Source source{object.get(), 0, object->size_bytes()};
    if (view_->chain.sharding()) return read_shard(job, source, view_->chain, segments, out, key, on_error, parallel);
    PENSTOCK_TRY(read_chunk(job, source, view_->chain, segments, out));
    job.advance(bytes);
    return {};
  };
  Status status = read();
  if (status) return {};
  Error error = std::move(status).error();
  if (error.code() == ErrorCode::cancelled) return error;
  if (on_error == OnError::fail) {
    // Errors of the store name the object themselves.
    if (error.message().find(key) == std::string::npos) error.add_context(state_->store->url() + "/" + key);
    return error;
  }
  PENSTOCK_TRY(place_fill(segments, out));
  job.add_problem(key, error.message());
  job.advance(bytes);
  return {};
}

}  // namespace penstock

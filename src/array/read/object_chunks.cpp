#include "array/read/object_chunks.hpp"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::size_t kAbsentRun = 16;  // chunks that take no request are worked on so many at a time

bool same_chunk(std::span<const ChunkSlice> a, std::span<const ChunkSlice> b) {
  return std::ranges::equal(a, b, {}, &ChunkSlice::chunk, &ChunkSlice::chunk);
}

Region local_region(std::span<const ChunkSlice> slices) {
  Region region;
  region.reserve(slices.size());
  for (const ChunkSlice& s : slices) region.push_back({s.local_start, s.count, s.step});
  return region;
}

}  // namespace

Result<ObjectChunks> ObjectChunks::make(std::span<const Part> parts) {
  ObjectChunks object;
  const BoundRegion& first = *parts.front().region;
  const std::size_t rank = first.rank();
  object.sharded_ = first.view->chain.sharding() != nullptr;
  const Shape& outer = first.view->dataset.chunk_shape;
  const Shape& inner = first.chain->decoded().shape;
  for (std::size_t d = 0; d < rank; ++d) object.grid_.push_back(outer[d] / inner[d]);
  ChunkSliceArray buffer;
  const std::span<ChunkSlice> slices(buffer.data(), rank);
  object.destinations_.reserve(parts.size());
  object.uses_.reserve(parts.size());
  for (const Part& part : parts) {
    part.region->objects.get(part.object, slices);
    const auto number = static_cast<std::uint32_t>(object.destinations_.size());
    Destination& to = object.destinations_.emplace_back(Destination{
        part.region, {slices.begin(), slices.end()}, part.region->target_of(slices, part.region->target), {}});
    if (!object.sharded_) {
      const bool other = number > 0 && !same_chunk(object.destinations_[number - 1].slices, to.slices);
      object.uses_.push_back({number == 0 ? 0 : object.uses_.back().linear + (other ? 1 : 0), 0, number});
      continue;
    }
    PENSTOCK_ASSIGN(to.inner, GridPartition::make(local_region(slices), inner));
    for (std::uint64_t i = 0; i < to.inner.size(); ++i) {
      to.inner.get(i, slices);
      std::uint64_t linear = 0;
      for (std::size_t d = 0; d < rank; ++d) linear = linear * object.grid_[d] + slices[d].chunk;
      object.uses_.push_back({linear, i, number});
    }
  }
  const auto before = [](const Use& a, const Use& b) { return a.linear < b.linear; };
  if (!std::is_sorted(object.uses_.begin(), object.uses_.end(), before))
    std::stable_sort(object.uses_.begin(), object.uses_.end(), before);
  for (std::size_t i = 0; i < object.uses_.size(); ++i) {
    if (i == 0 || object.uses_[i].linear != object.uses_[i - 1].linear)
      object.chunks_.push_back({{}, i, i, first.chain});
    object.chunks_.back().last_use = i + 1;
  }
  return object;
}

ObjectChunks ObjectChunks::part(std::size_t first, std::size_t last) const {
  ObjectChunks some;
  some.tries = tries;
  some.sharded_ = sharded_;
  some.grid_ = grid_;
  some.destinations_ = destinations_;
  for (const Chunk& chunk : std::span(chunks_).subspan(first, last - first)) {
    const std::size_t begin = some.uses_.size();
    for (std::size_t u = chunk.first_use; u < chunk.last_use; ++u) some.uses_.push_back(uses_[u]);
    some.chunks_.push_back({{}, begin, some.uses_.size(), region().chain});
  }
  return some;
}

void ObjectChunks::add_ids(ChunkIds& ids) const {
  const std::size_t rank = grid_.size();
  std::array<std::uint64_t, kMaxRank> at{};
  for (const Chunk& chunk : chunks_) {
    const Use& use = uses_[chunk.first_use];
    const std::vector<ChunkSlice>& slices = destinations_[use.destination].slices;
    std::uint64_t rest = sharded_ ? use.linear : 0;
    for (std::size_t d = rank; d-- > 0;) {
      at[d] = slices[d].chunk * grid_[d] + rest % grid_[d];
      rest /= grid_[d];
    }
    ids.add({at.data(), rank});
  }
}

void ObjectChunks::take_places(std::span<ChunkRef> refs, std::uint64_t gap_bytes, std::uint64_t max_bytes) {
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    ChunkRef& ref = chunks_[i].ref;
    ref = std::move(refs[i]);
    if (ref.error || ref.state == ChunkRef::State::absent) continue;
    if (Status done = check_place(chunks_[i]); !done) ref.error = std::move(done).error();
  }
  const auto before = [](const Chunk& a, const Chunk& b) {
    const bool x = a.ref.state == ChunkRef::State::absent, y = b.ref.state == ChunkRef::State::absent;
    return x != y ? y : a.ref.offset_bytes < b.ref.offset_bytes;
  };
  if (!std::is_sorted(chunks_.begin(), chunks_.end(), before)) std::stable_sort(chunks_.begin(), chunks_.end(), before);
  find_runs(gap_bytes, max_bytes);
}

/// Finds the chain of a chunk that ends early, which must have what is wanted of it.
Status ObjectChunks::check_place(Chunk& chunk) const {
  const Shape& valid = chunk.ref.valid;
  if (!valid.empty()) {
    PENSTOCK_ASSIGN(chunk.chain, region().view->cropped->get(region().view->dataset, valid));
    ChunkSliceArray buffer;
    for (std::size_t u = chunk.first_use; u < chunk.last_use; ++u) {
      const std::span<const ChunkSlice> slices = use(chunk, u, buffer).slices;
      for (std::size_t d = 0; d < slices.size(); ++d)
        if (slices[d].last() >= valid[d])
          return Error(ErrorCode::internal, "the index of chunks gives one that ends inside the array");
    }
  }
  if (chunk.ref.state != ChunkRef::State::stored) return {};
  return check_encoded_size(*chunk.chain, chunk.ref.size_bytes);
}

void ObjectChunks::find_runs(std::uint64_t gap_bytes, std::uint64_t max_bytes) {
  std::uint64_t begin = 0, end = 0;  // of the last run's bytes
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const ChunkRef& ref = chunks_[i].ref;
    const ChunkRef* const before = runs_.empty() ? nullptr : &chunks_[runs_.back().first].ref;
    bool joins = false;
    if (before == nullptr) {
    } else if (ref.error || before->error) {  // what cannot be located is one problem, however many chunks it is
      joins = ref.error && before->error && ref.holder == before->holder && ref.inner == before->inner;
    } else if (ref.state == ChunkRef::State::absent) {
      joins = before->state == ChunkRef::State::absent && i - runs_.back().first < kAbsentRun;
    } else if (ref.state == ChunkRef::State::stored && before->state == ChunkRef::State::stored) {
      // Closer than the gap: with a gap of 0 not even neighbours are read together.  What overlaps is read by itself.
      joins = ref.offset_bytes >= end && ref.offset_bytes - end < gap_bytes &&
              ref.offset_bytes + ref.size_bytes - begin <= max_bytes;
    }
    if (joins) {
      runs_.back().last = i + 1;
    } else {
      runs_.push_back({i, i + 1});
      begin = ref.offset_bytes;
    }
    end = ref.offset_bytes + ref.size_bytes;
  }
}

ChunkUse ObjectChunks::use(const Chunk& chunk, std::size_t i, ChunkSliceArray& slices) const {
  const Use& use = uses_[i];
  const Destination& to = destinations_[use.destination];
  if (!sharded_) return {to.region, chunk.chain, to.slices, to.out};
  const std::span<ChunkSlice> inner(slices.data(), grid_.size());
  to.inner.get(use.cut, inner);
  return {to.region, chunk.chain, inner, to.region->target_of(inner, to.out)};
}

}  // namespace penstock

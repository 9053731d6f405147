#include "array/index/shard_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/checked.hpp"

namespace penstock {

namespace {

std::string cache_name(const ChunkHolder& holder) {
  return holder.path.empty() ? holder.key : holder.key + " " + holder.path;
}

ChunkHolder inside(const ChunkRef& shard) {
  return {shard.holder->key, shard.path(), shard.holder->version, shard.holder->whole};
}

/// The part of an object whose bytes are there.
Fetched part_of(const std::shared_ptr<const HeldBytes>& whole, const ByteRange& range) {
  Fetched part{whole->answer(), {}};
  part.answer.offset_bytes = range.offset_bytes;
  part.answer.bytes = whole->answer().bytes.subspan(range.offset_bytes, range.count);
  part.answer.owner = whole;
  return part;
}

}  // namespace

/// One shard on the way to its index.
struct ShardIndex::Shard {
  enum class Step : std::uint8_t { done, open, whole, read };
  ChunkRef ref;
  std::uint64_t wanted = 0;  // of its chunks
  ChunkHolder holder{};      // of its inner chunks
  ShardIndexCache::Index index{};
  Step step = Step::done;
};

ByteRange ShardIndex::index_range(const ChunkRef& shard) const {
  const std::uint64_t bytes = sharding_.index_bytes();
  const bool at_end = sharding_.index_location() == ShardingCodec::IndexLocation::end;
  if (shard.state == ChunkRef::State::whole_object) return at_end ? ByteRange::last(bytes) : ByteRange::span(0, bytes);
  return ByteRange::span(shard.offset_bytes + (at_end ? shard.size_bytes - bytes : 0), bytes);
}

/// What the cache knows is used at once where the requests for the chunks will say whether it still holds, else once
/// the object is open.
void ShardIndex::look_up(Shard& shard, const Fetcher& fetcher) const {
  if (shard.ref.error || shard.ref.state == ChunkRef::State::absent) return;
  shard.holder = inside(shard.ref);
  const std::uint64_t bytes = sharding_.index_bytes();
  if (shard.ref.state == ChunkRef::State::stored && shard.ref.size_bytes < bytes) {
    shard.ref.error = Error(ErrorCode::corrupt_data, fmt::format("the shard has {} bytes, its index alone takes {}",
                                                                 shard.ref.size_bytes, bytes));
    return;
  }
  shard.step = is_worth_all(shard, fetcher.whole()) ? Shard::Step::whole : Shard::Step::read;
  const auto known = cache_.find(cache_name(shard.holder));
  if (!known.index) return;
  const bool looked_at = shard.holder.same_as() != nullptr;
  if (looked_at ? shard.holder.version.number == known.version : !fetcher.blocks()) {
    shard.index = known.index;
    shard.holder.version.number = known.version;
    shard.step = Shard::Step::done;
  } else if (!looked_at) {
    shard.step = Shard::Step::open;
  }
}

/// Whether one request for the whole shard costs less than one for its index and more for its chunks.
bool ShardIndex::is_worth_all(const Shard& shard, const WholeObjects& whole) const {
  if (shard.ref.state != ChunkRef::State::whole_object || shard.wanted < sharding_.inner_count() - shard.wanted ||
      sharding_.inner().decoded().dtype.is_vlen())
    return false;
  const std::uint64_t chunks = saturating_mul(sharding_.inner_count(), sharding_.inner().decoded_size());
  return saturating_add(chunks, sharding_.index_bytes()) <= whole.max_bytes;
}

void ShardIndex::take_index(Shard& shard, Fetched fetched, const WholeObjects& whole_objects) const {
  const Shard::Step asked = std::exchange(shard.step, Shard::Step::done);
  const bool opened = asked == Shard::Step::open;
  FetchAnswer& answer = fetched.answer;
  if (asked == Shard::Step::whole && !answer.status && answer.status.error().code() == ErrorCode::out_of_range) {
    shard.step = Shard::Step::read;  // larger than it could be by its decoded chunks
    return;
  }
  if (!answer.status) {
    shard.ref.error = std::move(answer.status).error();
    return;
  }
  if (answer.absent) {
    shard.ref.state = ChunkRef::State::absent;
    return;
  }
  shard.holder.version = std::move(answer.version);
  const std::uint64_t version = shard.holder.version.number;
  const std::string name = cache_name(shard.holder);
  if (opened) {
    shard.index = cache_.find(name, version);
    if (!shard.index) shard.step = Shard::Step::read;
    return;
  }
  const bool whole = shard.ref.state == ChunkRef::State::whole_object;
  const std::uint64_t shard_bytes = asked == Shard::Step::whole ? answer.bytes.size()
                                    : whole                     ? answer.object_bytes
                                                                : shard.ref.size_bytes;
  if (shard_bytes < sharding_.index_bytes()) {
    shard.ref.error = Error(ErrorCode::corrupt_data, fmt::format("the shard has {} bytes, its index alone takes {}",
                                                                 shard_bytes, sharding_.index_bytes()));
    return;
  }
  ByteView index = answer.bytes;
  if (asked == Shard::Step::whole) {
    const bool at_end = sharding_.index_location() == ShardingCodec::IndexLocation::end;
    index = at_end ? index.last(sharding_.index_bytes()) : index.first(sharding_.index_bytes());
  }
  auto entries = sharding_.decode_index(index, shard_bytes);
  if (!entries) {
    shard.ref.error = std::move(entries).error();
    return;
  }
  shard.index = std::make_shared<const std::vector<ShardEntry>>(*std::move(entries));
  cache_.insert(name, version, shard.index);
  // A store that gives memory of its own did not ask whether it fits; the window counts on it.
  if (asked != Shard::Step::whole || !whole_objects.fits(shard_bytes)) return;
  auto bytes = std::make_shared<const HeldBytes>(std::move(fetched), *whole_objects.held_bytes);
  shard.holder.whole = std::make_shared<HeldObject>(HeldObject{std::move(bytes)});
}

Status ShardIndex::locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const {
  const Shape& grid = sharding_.inner_grid();
  const std::size_t rank = chunks.rank();
  ChunkIds shard_ids(rank);
  std::vector<std::size_t> shard_of(chunks.size());
  std::map<std::vector<std::uint64_t>, std::size_t> numbers;
  std::vector<std::uint64_t> at(rank);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    for (std::size_t d = 0; d < rank; ++d) at[d] = chunks[i][d] / grid[d];
    const bool as_before = i > 0 && std::ranges::equal(at, shard_ids[shard_of[i - 1]]);
    if (as_before) {
      shard_of[i] = shard_of[i - 1];
      continue;
    }
    const auto [number, is_new] = numbers.try_emplace(at, shard_ids.size());
    if (is_new) shard_ids.add(at);
    shard_of[i] = number->second;
  }

  std::vector<ChunkRef> refs(shard_ids.size());
  PENSTOCK_TRY(shards_->locate(shard_ids, fetcher, refs));
  std::vector<Shard> shards;
  shards.reserve(refs.size());
  for (ChunkRef& ref : refs) shards.push_back({std::move(ref)});
  for (const std::size_t shard : shard_of) ++shards[shard].wanted;
  for (Shard& shard : shards) look_up(shard, fetcher);
  for (int round = 0; round < 2; ++round) {  // the first may only open objects, or find them too large
    std::vector<FetchRequest> requests;
    std::vector<Shard*> asked;
    for (Shard& shard : shards) {
      if (shard.step == Shard::Step::done) continue;
      if (shard.holder.whole) {  // of the shard around it
        take_index(shard, part_of(shard.holder.whole->bytes, index_range(shard.ref)), fetcher.whole());
        continue;
      }
      const ByteRange range = shard.step == Shard::Step::open    ? ByteRange::span(0, 0)
                              : shard.step == Shard::Step::whole ? ByteRange()
                                                                 : index_range(shard.ref);
      requests.push_back({shard.holder.key, range, shard.holder.same_as()});
      asked.push_back(&shard);
    }
    std::vector<Fetched> answers = fetcher.fetch(requests);
    for (std::size_t i = 0; i < answers.size(); ++i) take_index(*asked[i], std::move(answers[i]), fetcher.whole());
  }

  std::vector<std::shared_ptr<const ChunkHolder>> holders;
  for (Shard& shard : shards) {
    if (shard.ref.error &&
        (shard.ref.error->code() == ErrorCode::cancelled || shard.ref.error->code() == ErrorCode::out_of_memory))
      return *std::move(shard.ref.error);
    holders.push_back(shard.index ? std::make_shared<const ChunkHolder>(std::move(shard.holder)) : shard.ref.holder);
  }
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const Shard& shard = shards[shard_of[i]];
    ChunkRef& ref = out[i];
    ref.holder = holders[shard_of[i]];
    ref.error = shard.ref.error;
    ref.state = ChunkRef::State::absent;
    if (!shard.index) {
      ref.inner = shard.ref.inner;
      continue;
    }
    std::uint64_t linear = 0;
    for (std::size_t d = 0; d < rank; ++d) linear = linear * grid[d] + chunks[i][d] % grid[d];
    ref.inner = linear;
    const ShardEntry& entry = (*shard.index)[linear];
    if (entry.absent()) continue;
    ref.state = ChunkRef::State::stored;
    ref.offset_bytes = shard.ref.offset_bytes + entry.offset;
    ref.size_bytes = entry.size;
  }
  return {};
}

void ShardIndex::forget(const ChunkHolder& holder) const { cache_.forget(holder.key, holder.version.number); }

}  // namespace penstock

// Chunks that are uncompressed or that the CPU decodes, on their way into device memory.
#include <algorithm>
#include <deque>
#include <utility>

#include "array/device/read.hpp"
#include "array/read/chunk_feed.hpp"

namespace penstock::device_read {
namespace {

/// Some chunks of one worker on their way.  A piece holds either chunks that are placed straight from it, or chunks
/// that are copied into the staging memory and placed from there, all together at the end.  Statuses that are returned
/// tell of the device, `chunk_` tells of the chunk.
class Sender {
 public:
  Sender(DeviceRun& run, WorkerState& mine)
      : run_(run),
        worker_(run.job.worker()),
        mine_(mine),
        staging_bytes_(aligned(run.plan.regions.front().chain->decoded_size()) * run.plan.group_chunks) {}
  Status take(Load& load);
  /// Sends what is left, and places it.
  Status finish();

 private:
  struct Room {
    ByteSpan bytes;
    bool straight;  // placed from here
  };
  using Items = std::span<PlaceItem>;
  Status take_chunk(const Load& load, const ObjectChunks::Chunk& chunk);
  Status add_chunk(const Load& load, const ObjectChunks::Chunk& chunk);
  Status add_uncompressed(ChunkUse use, ChunkBytes& bytes);
  Status add_decoded(const Load& load, const ObjectChunks::Chunk& chunk, ChunkBytes& bytes);
  Status fill(const Load& load, const ObjectChunks::Chunk& chunk);
  const PartArray& part_of(const ChunkUse& use) { return parts_.emplace_back(use.slices); }

  Status flush();
  Result<Room> room_for(Items items, std::uint64_t bytes);
  Result<std::byte*> stage(std::uint64_t bytes);
  template <class Write>
  Status add(Items items, std::uint64_t bytes, const Write& write);

  DeviceRun& run_;
  Worker& worker_;
  WorkerState& mine_;
  std::uint64_t staging_bytes_;
  std::uint64_t at_ = 0;           // of the staging memory, behind the last chunk
  std::uint64_t sent_ = 0;         // up to there it is on its way
  std::uint64_t chunks_ = 0;       // since the last finish()
  std::uint64_t out_bytes_ = 0;    // the same
  std::vector<PlaceItem> direct_;  // of the piece in hand
  std::vector<PlaceItem> staged_;  // and what has no source
  std::deque<PartArray> parts_;    // of both
  Status chunk_;                   // whether the last one could be read and decoded
};

Status Sender::finish() {
  PENSTOCK_TRY(flush());
  PENSTOCK_TRY(DeviceRun::place(staged_, *mine_.stream));
  run_.job.advance(std::exchange(out_bytes_, 0));
  staged_.clear();
  parts_.clear();
  at_ = sent_ = chunks_ = 0;
  return {};
}

/// Gives what the piece holds to the device.
Status Sender::flush() {
  if (mine_.pieces.filled() == 0) return {};
  if (!direct_.empty()) {
    PENSTOCK_TRY(mine_.pieces.release_after(DeviceRun::place(direct_, *mine_.stream), *mine_.stream));
    mine_.direct_chunks += direct_.size();
    direct_.clear();
    return {};
  }
  PENSTOCK_TRY(mine_.pieces.send(mine_.staging.data() + sent_, *mine_.stream));
  sent_ = at_;
  return {};
}

/// Room in a piece beside chunks that go the same way only; it becomes the source of the items.
Result<Sender::Room> Sender::room_for(Items items, std::uint64_t bytes) {
  PENSTOCK_ASSIGN(ByteSpan room, mine_.pieces.room(bytes));
  if (room.empty()) {
    PENSTOCK_TRY(flush());
    PENSTOCK_ASSIGN(room, mine_.pieces.room(bytes));
  }
  const auto set_source = [&] {
    for (PlaceItem& item : items) item.source = room.data();
  };
  set_source();
  const bool straight = run_.reads_pinned && std::ranges::all_of(items, reads_in_rows);
  if (mine_.pieces.filled() > 0 && straight == direct_.empty()) {
    PENSTOCK_TRY(flush());
    PENSTOCK_ASSIGN(room, mine_.pieces.room(bytes));
    set_source();
  }
  return Room{room, straight};
}

/// Where the next `bytes` go in the staging memory.
Result<std::byte*> Sender::stage(std::uint64_t bytes) {
  if (mine_.staging.size() == 0) {
    PENSTOCK_ASSIGN(mine_.staging, run_.memory->allocate(staging_bytes_, kAlign, *mine_.stream));
  }
  return mine_.staging.data() + std::exchange(at_, at_ + aligned(bytes));
}

/// Brings up what fits in a piece: write(room) makes it there.
template <class Write>
Status Sender::add(Items items, std::uint64_t bytes, const Write& write) {
  PENSTOCK_ASSIGN(const Room room, room_for(items, bytes));
  chunk_ = write(room.bytes);
  if (!chunk_) return {};
  if (!room.straight) {
    PENSTOCK_ASSIGN(std::byte* const to, stage(bytes));
    for (PlaceItem& item : items) item.source = to;
  }
  auto& list = room.straight ? direct_ : staged_;
  list.insert(list.end(), items.begin(), items.end());
  mine_.pieces.fill(bytes);
  return {};
}

/// Only the touched bytes of it.
Status Sender::add_uncompressed(ChunkUse use, ChunkBytes& bytes) {
  const ByteExtent extent = touched_bytes(use.chain->chunk_layout(), use.slices, use.region->item_bytes);
  const std::uint64_t count = extent.last - extent.first;
  if (at_ + aligned(count) > staging_bytes_) PENSTOCK_TRY(finish());
  PartArray& part = parts_.emplace_back(use.slices);
  part.to_front();
  PlaceItem item = use.item(nullptr, part);
  if (count <= mine_.pieces.buffer_bytes())
    return add({&item, 1}, count, [&](ByteSpan room) { return bytes.read(extent.first, room); });
  PENSTOCK_TRY(flush());
  PENSTOCK_ASSIGN(std::byte* const to, stage(count));
  sent_ = at_;
  PENSTOCK_TRY(mine_.pieces.send_fetched(
      count, to, *mine_.stream, [&](std::uint64_t at, ByteSpan into) { return bytes.read(extent.first + at, into); },
      chunk_));
  if (!chunk_) return {};
  item.source = to;
  staged_.push_back(item);
  return {};
}

/// A chunk that the CPU decodes.
Status Sender::add_decoded(const Load& load, const ObjectChunks::Chunk& chunk, ChunkBytes& bytes) {
  const CodecChain& chain = *chunk.chain;
  auto encoded = bytes.get(0, bytes.size(), worker_.encoded);
  if (!encoded) {
    chunk_ = std::move(encoded).error();
    return {};
  }
  std::vector<PlaceItem> items;
  ChunkSliceArray slices;
  for (std::size_t u = chunk.first_use; u < chunk.last_use; ++u) {
    const ChunkUse use = load.object->use(chunk, u, slices);
    items.push_back(use.item(nullptr, part_of(use)));
  }
  const auto decode = [&](ByteSpan to) {
    const StageClock clock(worker_, Stage::decode);
    return chain.decode_to_layout(*encoded, to, worker_.scratch, {});
  };
  const std::uint64_t count = chain.decoded_size();
  if (count <= mine_.pieces.buffer_bytes()) return add(items, count, decode);
  chunk_ = worker_.decoded.resize_discard(count);
  if (chunk_) chunk_ = decode(worker_.decoded.span());
  if (!chunk_) return {};
  PENSTOCK_TRY(flush());
  PENSTOCK_ASSIGN(std::byte* const to, stage(count));
  sent_ = at_;
  PENSTOCK_TRY(mine_.pieces.send_all(worker_.decoded, to, *mine_.stream));
  for (PlaceItem& item : items) item.source = to;
  staged_.insert(staged_.end(), items.begin(), items.end());
  return {};
}

Status Sender::fill(const Load& load, const ObjectChunks::Chunk& chunk) {
  ChunkSliceArray slices;
  for (std::size_t u = chunk.first_use; u < chunk.last_use; ++u) {
    const ChunkUse use = load.object->use(chunk, u, slices);
    staged_.push_back(use.item(nullptr, part_of(use)));
  }
  return {};
}

/// Sets chunk_ when the chunk cannot be read.
Status Sender::add_chunk(const Load& load, const ObjectChunks::Chunk& chunk) {
  auto bytes = ChunkBytes::open(load, chunk.ref, worker_, run_.job.stop());
  if (!bytes) {
    chunk_ = std::move(bytes).error();
    return {};
  }
  if (!*bytes) {
    worker_.absent += 1;
    return fill(load, chunk);
  }
  const CodecChain& chain = *chunk.chain;
  chunk_ = check_encoded_size(chain, (*bytes)->size());
  if (!chunk_) return {};
  if (!chain.is_uncompressed()) return add_decoded(load, chunk, **bytes);
  ChunkSliceArray slices;
  for (std::size_t u = chunk.first_use; chunk_ && u < chunk.last_use; ++u)
    PENSTOCK_TRY(add_uncompressed(load.object->use(chunk, u, slices), **bytes));
  return {};
}

Status Sender::take_chunk(const Load& load, const ObjectChunks::Chunk& chunk) {
  const std::uint64_t needed = aligned(load.region().chain->decoded_size());
  if (chunks_ > 0 && (chunks_ >= run_.plan.group_chunks || at_ + needed > staging_bytes_)) PENSTOCK_TRY(finish());
  PENSTOCK_TRY(run_.job.check());
  const std::size_t staged = staged_.size();
  chunk_ = {};
  if (chunk.ref.state == ChunkRef::State::absent) {
    worker_.absent += 1;
    PENSTOCK_TRY(fill(load, chunk));
  } else {
    PENSTOCK_TRY(add_chunk(load, chunk));
  }
  if (!chunk_) {
    staged_.resize(std::min(staged, staged_.size()));  // of what is placed together nothing is placed twice
    PENSTOCK_ASSIGN(const bool later, run_.feed.locate_again(load, chunk, chunk_.error()));
    if (later) return {};
    PENSTOCK_TRY(run_.note(*load.object, chunk.ref, std::move(chunk_).error()));
    PENSTOCK_TRY(fill(load, chunk));
  }
  worker_.chunks += 1;
  chunks_ += chunk.last_use - chunk.first_use;
  ChunkSliceArray slices;
  for (std::size_t u = chunk.first_use; u < chunk.last_use; ++u)
    out_bytes_ += load.object->use(chunk, u, slices).bytes();
  return {};
}

Status Sender::take(Load& load) {
  const ChunkRef& first = load.chunks().front().ref;
  if (first.error) {
    PENSTOCK_TRY(run_.note(*load.object, first, *first.error));
    for (const ObjectChunks::Chunk& chunk : load.chunks()) {
      worker_.chunks += 1;
      PENSTOCK_TRY(fill(load, chunk));
    }
    return {};
  }
  PENSTOCK_TRY(load.bring(worker_, run_.job.stop()));
  for (const ObjectChunks::Chunk& chunk : load.chunks()) PENSTOCK_TRY(take_chunk(load, chunk));
  return {};
}

}  // namespace

Status send_chunks(DeviceRun& run, std::uint64_t workers) {
  PENSTOCK_ASSIGN(WorkerState* const mine, run.worker(workers));
  if (mine == nullptr) return {};
  if (!mine->stream) {
    if (workers == 1 && run.callers.size() == 1) {
      mine->stream = run.callers.front();  // one worker alone has no use for a stream beside the caller's
    } else {
      PENSTOCK_ASSIGN(mine->stream, Stream::create(run.plan.device));
      PENSTOCK_TRY(run.wait_for_callers(*mine->stream));
    }
  }
  Sender sender(run, *mine);
  ChunkFeed::Share share;
  Load load;
  for (;;) {
    PENSTOCK_ASSIGN(const bool more, run.feed.next(share, load));
    if (!more) return sender.finish();
    PENSTOCK_TRY(sender.take(load));
  }
}

}  // namespace penstock::device_read

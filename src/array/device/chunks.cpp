// Chunks that are raw or that the CPU decodes, on their way into device memory.
#include <utility>

#include "array/device/request.hpp"

namespace penstock::device_read {
namespace {

/// Some chunks of one worker on their way.  A piece holds either chunks that are placed straight from it, or chunks
/// that are copied into the staging memory and placed from there, all together at the end.  Statuses that are returned
/// tell of the device, `chunk` tells of the chunk.
struct Sender {
  const Request& r;
  Worker& worker;
  WorkerState& mine;
  std::uint64_t staging_bytes;         // that the chunks take if all are staged
  std::uint64_t at = 0;                // of the staging memory, behind the last chunk
  std::uint64_t sent = 0;              // up to there it is on its way
  std::vector<PlaceItem> direct = {};  // of the piece in hand
  std::vector<PlaceItem> staged = {};  // and what has no source
  Status chunk = {};                   // whether the last one could be read and decoded

  struct Room {
    ByteSpan bytes;
    bool straight;  // placed from here
  };
  Status flush();
  Result<Room> room_for(PlaceItem& item, std::uint64_t bytes);
  Result<std::byte*> stage(std::uint64_t bytes);
  template <class Write>
  Status add(PlaceItem item, std::uint64_t bytes, const Write& write);
  Status add_raw(const Leaf& leaf, PartArray& part);
  Status add_decoded(const Leaf& leaf, const PartArray& part);
  Status finish() {
    PENSTOCK_TRY(flush());
    return place(staged, *mine.stream);
  }
};

/// Gives what the piece holds to the device.
Status Sender::flush() {
  if (mine.pieces.filled() == 0) return {};
  if (!direct.empty()) {
    PENSTOCK_TRY(mine.pieces.release_after(place(direct, *mine.stream), *mine.stream));
    mine.direct_chunks += direct.size();
    direct.clear();
    return {};
  }
  PENSTOCK_TRY(mine.pieces.send(mine.staging.data() + sent, *mine.stream));
  sent = at;
  return {};
}

/// Room in a piece beside chunks that go the same way only; it becomes the source of `item`.
Result<Sender::Room> Sender::room_for(PlaceItem& item, std::uint64_t bytes) {
  PENSTOCK_ASSIGN(ByteSpan room, mine.pieces.room(bytes));
  if (room.empty()) {
    PENSTOCK_TRY(flush());
    PENSTOCK_ASSIGN(room, mine.pieces.room(bytes));
  }
  item.source = room.data();
  const bool straight = r.reads_pinned && reads_in_rows(item);
  if (mine.pieces.filled() > 0 && straight == direct.empty()) {
    PENSTOCK_TRY(flush());
    PENSTOCK_ASSIGN(room, mine.pieces.room(bytes));
    item.source = room.data();
  }
  return Room{room, straight};
}

/// Where the next `bytes` go in the staging memory.
Result<std::byte*> Sender::stage(std::uint64_t bytes) {
  PENSTOCK_TRY(mine.start_staging(r, staging_bytes));
  return mine.staging.data() + std::exchange(at, at + aligned(bytes));
}

/// Brings up a chunk that fits in a piece: write(room) makes it there.
template <class Write>
Status Sender::add(PlaceItem item, std::uint64_t bytes, const Write& write) {
  PENSTOCK_ASSIGN(const Room room, room_for(item, bytes));
  chunk = write(room.bytes);
  if (!chunk) return {};
  if (!room.straight) {
    PENSTOCK_ASSIGN(item.source, stage(bytes));
  }
  (room.straight ? direct : staged).push_back(item);
  mine.pieces.fill(bytes);
  return {};
}

/// A raw chunk, only the touched bytes of it.
Status Sender::add_raw(const Leaf& leaf, PartArray& part) {
  const ByteExtent extent = touched_bytes(r.chain->chunk_layout(), r.segments(leaf), r.item_bytes);
  const std::uint64_t count = extent.last - extent.first, from = leaf.offset_bytes + extent.first;
  part.to_front();
  worker.stored_bytes += count;
  if (count <= mine.pieces.buffer_bytes())
    return add(r.place_item(leaf, nullptr, part), count, [&](ByteSpan room) {
      const StageClock clock(worker, Stage::fetch);
      return leaf.object->read(from, room);
    });
  PENSTOCK_TRY(flush());
  PENSTOCK_ASSIGN(std::byte* const to, stage(count));
  sent = at;
  const double waited = mine.pieces.waited_seconds();
  {
    const StageClock clock(worker, Stage::fetch);
    PENSTOCK_TRY(mine.pieces.send_object(*leaf.object, from, count, to, *mine.stream, chunk));
  }
  worker.seconds[static_cast<std::size_t>(Stage::fetch)] -= mine.pieces.waited_seconds() - waited;
  if (chunk) staged.push_back(r.place_item(leaf, to, part));
  return {};
}

/// A chunk that the CPU decodes.
Status Sender::add_decoded(const Leaf& leaf, const PartArray& part) {
  {
    const StageClock clock(worker, Stage::fetch);
    worker.stored_bytes += leaf.size_bytes;
    chunk = worker.encoded.resize_discard(leaf.size_bytes);
    if (chunk) chunk = leaf.object->read(leaf.offset_bytes, worker.encoded.span());
    if (!chunk) return {};
  }
  const std::uint64_t bytes = r.chain->decoded_size();
  const auto decode = [&](ByteSpan to) {
    const StageClock clock(worker, Stage::decode);
    return r.chain->decode_to_layout(worker.encoded, to, worker.scratch, {});
  };
  if (bytes <= mine.pieces.buffer_bytes()) return add(r.place_item(leaf, nullptr, part), bytes, decode);
  chunk = worker.decoded.resize_discard(bytes);
  if (chunk) chunk = decode(worker.decoded.span());
  if (!chunk) return {};
  PENSTOCK_TRY(flush());
  PENSTOCK_ASSIGN(std::byte* const to, stage(bytes));
  sent = at;
  PENSTOCK_TRY(mine.pieces.send_all(worker.decoded, to, *mine.stream));
  staged.push_back(r.place_item(leaf, to, part));
  return {};
}

}  // namespace

Status send_chunks(const Request& r, Job& job, WorkerState& mine, std::uint64_t first, std::uint64_t last,
                   std::uint64_t most) {
  Worker& worker = job.worker();
  Sender sender{r, worker, mine, aligned(r.chain->decoded_size()) * most};
  std::vector<PartArray> parts;
  parts.reserve(last - first);
  std::uint64_t bytes = 0;
  Leaf leaf;
  for (std::uint64_t i = first; i < last; ++i) {
    PENSTOCK_TRY(job.check());
    sender.chunk = mine.finder->find(i, worker, leaf);
    const bool present = sender.chunk && leaf.object;
    PartArray& part = parts.emplace_back(r.segments(leaf));
    worker.chunks += 1;
    bytes += r.output_bytes(leaf);
    if (present) {
      worker.requests += 1;
      sender.chunk = check_encoded_size(*r.chain, leaf.size_bytes);
      if (sender.chunk)
        PENSTOCK_TRY(r.chain->is_uncompressed() ? sender.add_raw(leaf, part) : sender.add_decoded(leaf, part));
    } else if (sender.chunk) {
      worker.absent += 1;
    }
    if (present && sender.chunk) continue;
    sender.staged.push_back(r.place_item(leaf, nullptr, part));
    if (sender.chunk) continue;
    Error error = r.named(std::move(sender.chunk).error(), leaf);
    if (r.on_error == OnError::fail || ends_work(error)) return error;
    job.add_problem(leaf.name, error.message());
  }
  PENSTOCK_TRY(sender.finish());
  job.advance(bytes);
  return {};
}

}  // namespace penstock::device_read

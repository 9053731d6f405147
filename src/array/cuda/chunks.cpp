// Chunks that are raw or that the CPU decodes, on their way into device memory.
#include <algorithm>

#include "array/cuda/request.hpp"

namespace penstock::cuda_read {
namespace {

/// Some chunks of one worker: what it has of them in its piece and in its staging memory.
struct Sender {
  const Request& r;
  Worker& worker;
  Lane& lane;
  std::uint64_t at = 0;    // of the staging memory, behind the last chunk
  std::uint64_t sent = 0;  // up to there it is on its way

  Status flush() {
    if (lane.pieces.filled() == 0) return {};
    PENSTOCK_TRY(lane.pieces.send(lane.staging.data() + sent, lane.stream));
    sent = at;
    return {};
  }
  /// Brings `bytes` up to where the staging memory is free: write(room) makes them in the piece when they fit there.
  template <class Write>
  Status add(std::uint64_t bytes, const Write& write) {
    PENSTOCK_ASSIGN(ByteSpan room, lane.pieces.room(bytes));
    if (room.empty()) {
      PENSTOCK_TRY(flush());
      PENSTOCK_ASSIGN(room, lane.pieces.room(bytes));
    }
    PENSTOCK_TRY(write(room));
    lane.pieces.fill(bytes);
    at += aligned(bytes);
    return {};
  }
  Status add_raw(const Leaf& leaf, PartArray& part);
  Status add_decoded(const Leaf& leaf);
};

/// A raw chunk, only the touched bytes of it.
Status Sender::add_raw(const Leaf& leaf, PartArray& part) {
  const double waited = lane.pieces.waited_seconds();
  {
    const StageClock clock(worker, Stage::fetch);
    const ByteExtent extent = touched_bytes(r.chain->raw_layout(), r.segments(leaf), r.item_bytes);
    const std::uint64_t count = extent.last - extent.first, from = leaf.offset_bytes + extent.first;
    worker.stored_bytes += count;
    if (count <= lane.pieces.piece_bytes()) {
      PENSTOCK_TRY(add(count, [&](ByteSpan room) { return leaf.object->read(from, room); }));
    } else {
      PENSTOCK_TRY(flush());
      PENSTOCK_TRY(lane.pieces.send_object(*leaf.object, from, count, lane.staging.data() + at, lane.stream));
      sent = at += aligned(count);
    }
  }
  worker.seconds[static_cast<std::size_t>(Stage::fetch)] -= lane.pieces.waited_seconds() - waited;
  part.to_front();
  return {};
}

/// A chunk that the CPU decodes.
Status Sender::add_decoded(const Leaf& leaf) {
  {
    const StageClock clock(worker, Stage::fetch);
    worker.stored_bytes += leaf.size_bytes;
    PENSTOCK_TRY(worker.encoded.resize_discard(leaf.size_bytes));
    PENSTOCK_TRY(leaf.object->read(leaf.offset_bytes, worker.encoded.span()));
  }
  const std::uint64_t bytes = r.chain->decoded_size();
  const auto decode = [&](ByteSpan to) {
    const StageClock clock(worker, Stage::decode);
    return r.chain->decode_raw(worker.encoded, to, worker.scratch, {});
  };
  if (bytes <= lane.pieces.piece_bytes()) return add(bytes, decode);
  PENSTOCK_TRY(worker.raw.resize_discard(bytes));
  PENSTOCK_TRY(decode(worker.raw.span()));
  PENSTOCK_TRY(flush());
  PENSTOCK_TRY(lane.pieces.send_all(worker.raw, lane.staging.data() + at, lane.stream));
  sent = at += aligned(bytes);
  return {};
}

}  // namespace

Status send_chunks(const Request& r, Job& job, Lane& lane, std::uint64_t first, std::uint64_t last, std::uint64_t most,
                   const CancelToken& cancel) {
  const std::uint64_t each = aligned(r.chain->decoded_size());
  PENSTOCK_TRY(lane.start(r, job.worker_count(), cancel));
  PENSTOCK_TRY(lane.start_staging(r, each * most));
  Worker& worker = job.worker();
  Sender sender{r, worker, lane};
  std::vector<PlaceItem> items;
  std::vector<PartArray> parts;
  items.reserve(last - first);
  parts.reserve(last - first);
  std::uint64_t bytes = 0;
  Leaf leaf;
  for (std::uint64_t i = first; i < last; ++i) {
    PENSTOCK_TRY(job.check());
    Status done = lane.finder->find(i, worker, leaf);
    const bool present = done && leaf.object;
    parts.emplace_back(r.segments(leaf));
    worker.chunks += 1;
    bytes += r.output_bytes(leaf);
    std::byte* const source = lane.staging.data() + sender.at;
    if (present) {
      worker.requests += 1;
      done = check_encoded_size(*r.chain, leaf.size_bytes);
      if (done) done = r.chain->is_raw() ? sender.add_raw(leaf, parts.back()) : sender.add_decoded(leaf);
    } else if (done) {
      worker.absent += 1;
    }
    const bool good = done.has_value();
    if (!good) {
      Error error = r.named(std::move(done).error(), leaf);
      if (r.on_error == OnError::fail || error.code() == ErrorCode::cancelled) return error;
      job.add_problem(leaf.name, error.message());
    }
    items.push_back(r.place_item(leaf, present && good ? source : nullptr, parts.back()));
  }
  PENSTOCK_TRY(sender.flush());
  PENSTOCK_TRY(place(items, lane.stream));
  job.advance(bytes);
  return {};
}

}  // namespace penstock::cuda_read

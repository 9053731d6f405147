// Chunks that are raw or that the CPU decodes, on their way into device memory.
#include <algorithm>

#include "array/cuda/request.hpp"

namespace penstock::cuda_read {
namespace {

/// Fetches one chunk and leaves it raw (only the touched bytes of it, moved to the front, when `part` says so).
Result<std::uint64_t> load_raw(const Request& r, Worker& worker, const Leaf& leaf, PartArray& part, ByteSpan to) {
  PENSTOCK_TRY(check_encoded_size(*r.chain, leaf.size_bytes));
  worker.requests += 1;
  if (r.chain->is_raw()) {
    const StageClock clock(worker, Stage::fetch);
    const ByteExtent extent = touched_bytes(r.chain->raw_layout(), r.segments(leaf), r.item_bytes);
    const std::uint64_t count = extent.last - extent.first;
    worker.stored_bytes += count;
    PENSTOCK_TRY(leaf.object->read(leaf.offset_bytes + extent.first, to.first(count)));
    part.to_front();
    return count;
  }
  {
    const StageClock clock(worker, Stage::fetch);
    worker.stored_bytes += leaf.size_bytes;
    PENSTOCK_TRY(worker.encoded.resize_discard(leaf.size_bytes));
    PENSTOCK_TRY(leaf.object->read(leaf.offset_bytes, worker.encoded.span()));
  }
  const StageClock clock(worker, Stage::decode);
  PENSTOCK_TRY(r.chain->decode_raw(worker.encoded, to.first(r.chain->decoded_size()), worker.scratch, {}));
  return r.chain->decoded_size();
}

}  // namespace

Status send_slab(const Request& r, Job& job, Lane& lane, std::uint64_t first, std::uint64_t last,
                 const CancelToken& cancel) {
  const std::uint64_t each = aligned(r.chain->decoded_size());
  PENSTOCK_TRY(lane.start(r, each * std::max<std::uint64_t>(last - first, kSlabBytes / std::max(each, kAlign))));
  PENSTOCK_ASSIGN(Slab slab, lane.slab(r, each * (last - first), cancel));
  Worker& worker = job.worker();
  std::vector<PlaceItem> items;
  std::vector<PartArray> parts;
  items.reserve(last - first);
  parts.reserve(last - first);
  std::uint64_t at = 0, bytes = 0;
  Leaf leaf;
  for (std::uint64_t i = first; i < last; ++i) {
    PENSTOCK_TRY(job.check());
    const Status found = lane.finder->find(i, worker, leaf);
    parts.emplace_back(r.segments(leaf));
    worker.chunks += 1;
    bytes += r.output_bytes(leaf);
    Result<std::uint64_t> loaded = std::uint64_t{0};
    if (!found)
      loaded = found.error();
    else if (!leaf.object)
      worker.absent += 1;
    else
      loaded = load_raw(r, worker, leaf, parts.back(), {slab.data() + at, each});
    if (!loaded) {
      const Error error = r.named(loaded.error(), leaf);
      if (r.on_error == OnError::fail || error.code() == ErrorCode::cancelled) return error;
      job.add_problem(leaf.name, error.message());
    }
    const bool present = loaded && leaf.object;
    items.push_back(r.place_item(leaf, present ? lane.staging.data() + at : nullptr, parts.back()));
    if (present) at += aligned(*loaded);
  }
  if (at > 0) PENSTOCK_TRY(copy_async(lane.staging.data(), r.device, slab.data(), {}, at, lane.stream));
  Status placed = place_cuda(items, lane.stream);
  auto done = placed ? Event::record(lane.stream) : Result<Event>(std::move(placed).error());
  if (!done) {  // the slab must not be used again while it is going up
    PENSTOCK_TRY(lane.stream.synchronize());
    return std::move(done).error();
  }
  slab.release_after(*std::move(done));
  job.advance(bytes);
  return {};
}

}  // namespace penstock::cuda_read

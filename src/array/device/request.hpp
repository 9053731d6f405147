// What reads into the memory of a CUDA device share.  Two ways lead there.
// Chunks that are raw or that the CPU decodes: every worker sends some at a time up on a stream of its own (one alone
// on the caller's), so that reading, decoding, uploading and placing overlap without a barrier.  Placement takes them
// straight from pinned memory where it reads them in rows.
// Waves, for chunks that the device decodes: large batches, so that many chunks are decoded by one launch.
#pragma once
#include <oneapi/tbb/enumerable_thread_specific.h>

#include "array/assemble/place.hpp"
#include "array/index/leaf.hpp"
#include "array/read/encoded_chunk.hpp"
#include "codec/device_chain.hpp"
#include "device/pinned_ring.hpp"
#include "exec/job.hpp"
#include "exec/staging.hpp"

namespace penstock::device_read {

/// Decoded, of chunks that one worker takes at a time; less with small budgets.  More would only let the others wait
/// longer for the last of them.
inline constexpr std::uint64_t kGroupBytes = kStagingBytes;

/// What one region needs on its way; shared by all workers, constant while they run.
struct Request {
  std::shared_ptr<Array::State> state;
  std::shared_ptr<const ArrayView> view;
  const CodecChain* chain = nullptr;  // of the innermost chunks
  Region region;
  Device device;
  std::byte* target = nullptr;
  Strides strides;
  std::vector<SwapRun> swaps;
  std::vector<std::byte> fill;
  std::uint64_t item_bytes = 1;
  Stream stream;  // the caller's
  Event begin;    // in it
  std::shared_ptr<PinnedRing> ring;
  std::shared_ptr<Memory> memory;
  bool reads_pinned = false;  // the device's kernels, at the addresses that the host uses
  OnError on_error = OnError::fail;

  [[nodiscard]] std::span<const ChunkSlice> segments(const Leaf& leaf) const {
    return {leaf.segments.data(), region.size()};
  }
  [[nodiscard]] std::uint64_t output_bytes(const Leaf& leaf) const {
    std::uint64_t bytes = item_bytes;
    for (const ChunkSlice& s : segments(leaf)) bytes *= s.count;
    return bytes;
  }
  /// A placement of `leaf` from `source` (nullptr: fill value); `part` must outlive it.
  [[nodiscard]] PlaceItem place_item(const Leaf& leaf, const std::byte* source, const PartArray& part) const {
    PlaceItem item;
    item.source = source;
    item.source_strides = chain->chunk_layout().strides;
    item.part = part;
    item.target = target;
    for (std::size_t d = 0; d < region.size(); ++d)
      item.target += static_cast<std::int64_t>(leaf.segments[d].out_start) * strides[d];
    item.target_strides = strides;
    item.item_bytes = static_cast<std::uint32_t>(item_bytes);
    if (chain->chunk_layout().swap) item.swaps = swaps;
    item.fill = fill;
    return item;
  }
  [[nodiscard]] Error named(Error error, const Leaf& leaf) const {
    if (error.message().find(leaf.name) == std::string::npos) error.add_context(state->store->url() + "/" + leaf.name);
    return error;
  }
};

/// Places items in the order of `stream`, also on the CPU.
Status place(std::span<const PlaceItem> items, const Stream& stream);

/// Errors: invalid_argument (region, strides, stream), no_device.
Result<Request> make_request(const ReadItem& item, const Options& options);

/// What one worker keeps.
struct WorkerState {
  StagingBuffers pieces;
  std::optional<LeafFinder> finder;
  std::optional<Stream> stream;     // not for waves, which have their own
  Buffer staging;                   // on the device, used again for each group; for what is not read in rows
  std::uint64_t direct_chunks = 0;  // placed straight from a piece

  /// False: there is no pinned memory for one more worker; the others do the work.
  Result<bool> start(const Request& r, FirstStaging& first, std::uint64_t workers, const CancelToken& cancel) {
    if (finder) return true;
    PENSTOCK_ASSIGN(const bool started, pieces.start(*r.ring, first, workers, cancel));
    if (!started) return false;
    PENSTOCK_ASSIGN(LeafFinder f, LeafFinder::make(r.state, r.view, r.region));
    finder = std::move(f);
    return true;
  }
  /// One worker alone has no use for a stream beside the caller's.
  Status start_stream(const Request& r, std::uint64_t workers) {
    if (stream) return {};
    if (workers == 1) {
      stream = r.stream;
      return {};
    }
    PENSTOCK_ASSIGN(stream, Stream::create(r.device));
    return r.begin.wait_on(*stream);
  }
  Status start_staging(const Request& r, std::uint64_t bytes) {
    if (staging.size() > 0) return {};
    PENSTOCK_ASSIGN(staging, r.memory->allocate(bytes, kAlign, *stream));
    return {};
  }
};
/// Of one read.
struct WorkerStates {
  tbb::enumerable_thread_specific<WorkerState> all;
  FirstStaging first;
};

/// Chunks [first, last), raw or decoded by this thread, whose mine and stream have been started; no call has more than
/// `most`.
Status send_chunks(const Request& r, Job& job, WorkerState& mine, std::uint64_t first, std::uint64_t last,
                   std::uint64_t most);

/// What waves came to.
struct WaveStats {
  std::uint64_t peak_device_bytes = 0;
  std::uint64_t chunks_on_cpu = 0;  // right, but refused by the device's decoder
};
/// All chunks through waves that `chain` decodes on the device; at most `device_bytes` of its memory.  When it returns,
/// the device is done, also after an error.
Result<WaveStats> run_waves(const Request& r, const DeviceChain& chain, std::uint64_t device_bytes, Job& job,
                            WorkerStates& worker_states, const CancelToken& cancel);
/// Device memory that the smallest waves need: two, of one chunk each.
std::uint64_t min_wave_bytes(const CodecChain& chain, const DeviceChain& device);

}  // namespace penstock::device_read

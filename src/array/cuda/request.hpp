// What reads into the memory of a CUDA device share.  Two ways lead there.
// Slabs, for chunks that are raw or that the CPU decodes: every worker fills small slabs of the pinned ring and sends
// them up on a stream of its own, so that reading, decoding, uploading and placing overlap without a barrier.
// Waves, for chunks that the device decodes: large batches, so that many chunks are decoded by one launch.
#pragma once
#include "array/chunk_io.hpp"
#include "array/job.hpp"
#include "array/leaf.hpp"
#include "array/place/place.hpp"
#include "codec/device_chain.hpp"
#include "device/pinned_ring.hpp"

namespace penstock::cuda_read {

inline constexpr std::uint64_t kSlabBytes = std::uint64_t{8} << 20;  // a worker's slab: copy time far above launch time
inline constexpr std::uint64_t kAlign = 256;
constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

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
  Event begin;  // in the caller's stream
  std::shared_ptr<PinnedRing> ring;
  std::shared_ptr<Memory> memory;
  OnError on_error = OnError::fail;

  [[nodiscard]] std::span<const Segment> segments(const Leaf& leaf) const {
    return {leaf.segments.data(), region.size()};
  }
  [[nodiscard]] std::uint64_t output_bytes(const Leaf& leaf) const {
    std::uint64_t bytes = item_bytes;
    for (const Segment& s : segments(leaf)) bytes *= s.count;
    return bytes;
  }
  /// A placement of `leaf` from `source` (nullptr: fill value); `part` must outlive it.
  [[nodiscard]] PlaceItem place_item(const Leaf& leaf, const std::byte* source, const PartArray& part) const {
    PlaceItem item;
    item.source = source;
    item.source_strides = chain->raw_layout().strides;
    item.part = part;
    item.target = target;
    for (std::size_t d = 0; d < region.size(); ++d)
      item.target += static_cast<std::int64_t>(leaf.segments[d].out_start) * strides[d];
    item.target_strides = strides;
    item.item_bytes = static_cast<std::uint32_t>(item_bytes);
    if (chain->raw_layout().swap) item.swaps = swaps;
    item.fill = fill;
    return item;
  }
  [[nodiscard]] Error named(Error error, const Leaf& leaf) const {
    if (error.message().find(leaf.name) == std::string::npos) error.add_context(state->store->url() + "/" + leaf.name);
    return error;
  }
};

/// Errors: invalid_argument (region, strides, stream), no_device.
Result<Request> make_request(const ReadItem& item, const Options& options);

/// A stream of one worker, with memory on the device that is used again for each of its slabs.
struct Lane {
  Stream stream;
  Buffer staging;
  bool started = false;
  std::optional<LeafFinder> finder;
  double waited_seconds = 0;        // for a free slab: the device was behind
  std::uint64_t chunks_on_cpu = 0;  // of waves: right, but beyond the device's decoder
  std::uint64_t peak_device_bytes = 0;

  Status start(const Request& r, std::uint64_t staging_bytes) {
    if (started) return {};
    PENSTOCK_ASSIGN(stream, Stream::create(r.device));
    PENSTOCK_TRY(r.begin.wait_on(stream));
    if (staging_bytes > 0) {
      PENSTOCK_ASSIGN(staging, r.memory->allocate(staging_bytes, kAlign, stream));
      peak_device_bytes = staging_bytes;
    }
    PENSTOCK_ASSIGN(LeafFinder f, LeafFinder::make(r.state, r.view, r.region));
    finder = std::move(f);
    started = true;
    return {};
  }
  Result<Slab> slab(const Request& r, std::uint64_t bytes, const CancelToken& cancel) {
    const auto start_time = std::chrono::steady_clock::now();
    auto slab = r.ring->acquire(bytes, cancel);
    waited_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time).count();
    return slab;
  }
};

/// Chunks [first, last) through one slab.
Status send_slab(const Request& r, Job& job, Lane& lane, std::uint64_t first, std::uint64_t last,
                 const CancelToken& cancel);

/// All chunks through waves that `chain` decodes on the device; at most `device_bytes` of its memory.
Status fly_waves(const Request& r, const DeviceChain& chain, std::uint64_t device_bytes, Job& job, Lane& lane,
                 const CancelToken& cancel);
/// Device memory that the smallest wave needs: one chunk.
std::uint64_t least_wave_bytes(const CodecChain& chain, const DeviceChain& device);

}  // namespace penstock::cuda_read

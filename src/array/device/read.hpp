// Reading into the memory of a device.  Two ways lead there.
// Chunks that are uncompressed or that the CPU decodes: every worker sends some at a time up on a stream of its own
// (one alone on the caller's), so that reading, decoding, uploading and placing overlap without a barrier.  Placement
// takes them straight from pinned memory where it reads them in rows.
// Waves, for chunks that the device decodes: large batches, so that many chunks are decoded by one launch.
#pragma once
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <mutex>
#include <optional>

#include "array/plan/plan.hpp"
#include "array/read/load.hpp"
#include "device/pinned_ring.hpp"
#include "exec/job.hpp"
#include "exec/staging.hpp"
#include "penstock/array.hpp"

namespace penstock {

class ChunkFeed;

/// Reads items into device memory; `device` may be the CPU, as tests have it.  Work on the targets is ordered on their
/// streams: it begins after what is in a stream now, and what is put into it later comes after it.
Result<Report> read_device(std::span<const ReadItem> items, const Options& options);

namespace device_read {

/// Errors: invalid_argument (a stream of another device).
Status check_target(const Target& target);

/// What a read into device memory came to.
struct DeviceStats {
  std::uint64_t ring_bytes = 0;    ///< of pinned memory, of the process
  std::uint64_t window_bytes = 0;  ///< most that requests ahead of the workers held
  std::uint64_t peak_device_bytes = 0;
  std::uint64_t waves = 0;
  std::uint64_t chunks_on_cpu = 0;  ///< right, but refused by the device's decoder
  std::uint64_t direct_chunks = 0;  ///< placed straight from a piece
  double waited_seconds = 0;        ///< for the device
};
/// Carries out a plan whose way is `device`.
Result<DeviceStats> run_device(const ReadPlan& plan, std::span<const Stream> streams, Job& job);

/// What one worker keeps.
struct WorkerState {
  StagingBuffers pieces;
  std::optional<Stream> stream;  // not for waves, which have their own
  Buffer staging;                // on the device, used again for each group; for what is not read in rows
  std::uint64_t direct_chunks = 0;
};

/// What all workers of a read share.
struct DeviceRun {
  const ReadPlan& plan;
  Job& job;
  ChunkFeed& feed;
  std::vector<Stream> callers = {};  // streams of the targets, each once
  std::vector<Event> begins = {};    // in them
  std::shared_ptr<PinnedRing> ring = {};
  std::shared_ptr<Memory> memory = {};
  bool reads_pinned = false;  // the device's kernels, at the addresses that the host uses
  FirstStaging first_staging = {};
  tbb::enumerable_thread_specific<WorkerState> workers = {};

  /// Streams, pinned memory, device memory.
  Status start(std::span<const Stream> streams);
  /// Makes the later work of `stream` wait for what is in the callers' streams.
  [[nodiscard]] Status wait_for_callers(const Stream& stream) const;
  /// This worker's state; nullptr: there is no pinned memory for one more; the others do the work.
  Result<WorkerState*> worker(std::uint64_t workers);
  /// Places items in the order of `stream`, also on the CPU.
  static Status place(std::span<const PlaceItem> items, const Stream& stream);
  /// The error when the read fails because of it; else it is noted.
  [[nodiscard]] Status note(const ObjectChunks& object, const ChunkRef& ref, Error error) const;
};

/// What the feed gives, uncompressed or decoded by this thread; called by each worker.
Status send_chunks(DeviceRun& run, std::uint64_t workers);
/// All chunks through waves that the device decodes.  When it returns, the device is done, also after an error.
Status run_waves(DeviceRun& run, DeviceStats& stats);

}  // namespace device_read

}  // namespace penstock

// How regions will be read.  Reads run this object; Array::plan and `explain` print it.
#pragma once
#include <vector>

#include "array/plan/bound_region.hpp"
#include "array/plan/device_path.hpp"
#include "exec/budget.hpp"

namespace penstock {

/// Whether chunks go to host memory as they are decoded, or by way of staging memory and streams.  The CPU too can
/// stand at the end of the second way, in tests.
enum class ReadWay : std::uint8_t { host, device };

/// Regions that are read together: of one kind of chunk where they go to a device, from stores of one kind.
struct ReadPlan {
  std::string operation = "read";
  std::vector<BoundRegion> regions;
  ReadWay way = ReadWay::host;
  Device device;
  OnError on_error = OnError::fail;

  // What is touched.  64 bits stand for more too.
  std::uint64_t chunks = 0;
  std::uint64_t objects = 0;
  std::uint64_t index_reads = 0;
  std::uint64_t decoded_bytes = 0;
  std::uint64_t out_bytes = 0;
  std::uint64_t chunk_bytes = 0;  ///< the largest

  // Who works on it, with what memory.
  std::uint64_t need_bytes = 0;  ///< of one worker
  BudgetPlan allowed;
  std::uint64_t threads = 1;  ///< what the job may use
  [[nodiscard]] std::uint64_t workers() const { return std::min(threads, std::max<std::uint64_t>(chunks, 1)); }

  // Fetching.
  StoreTraits traits;
  std::uint64_t merge_max_bytes = 0;    ///< of a request for several chunks
  std::uint64_t whole_shard_bytes = 0;  ///< largest shard that is read whole where half of it is wanted; 0: none is
  std::uint64_t window_bytes = 0;       ///< of requests that run ahead of the workers; unused where none do

  // Decoding, on the way to a device.
  DevicePath decode;
  device_read::WaveLimits waves;   ///< where the device decodes
  std::uint64_t group_chunks = 1;  ///< that a worker sends up together, where it does not

  /// Path and reason of each stage.
  [[nodiscard]] std::vector<StageReport> stages() const;
  /// For people and programs, of the first region.
  [[nodiscard]] Plan summary() const;
};

/// Errors: those of BoundRegion::make, of the budget, and of the choice where to decode.
Result<ReadPlan> make_plan(std::vector<BoundRegion> regions, ReadWay way, Device device, const Options& options);

}  // namespace penstock

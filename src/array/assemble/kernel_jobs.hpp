// From items to the jobs of the placement kernel.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "array/assemble/kernel.hpp"
#include "penstock/device.hpp"
#include "penstock/error.hpp"

namespace penstock {
struct PlaceItem;
}

namespace penstock::place {

/// Jobs by the size of their vectors: 1, 2, 4, 8, 16 bytes.
using KernelJobs = std::array<std::vector<KernelJob>, 5>;

/// Errors: as place_cpu.
Result<KernelJobs> make_kernel_jobs(std::span<const PlaceItem> items);

/// Packs jobs into batches of one launch each: run(batch, number of vectors) -> Status.
template <class V, class Run>
Status for_each_batch(const std::vector<KernelJob>& jobs, const Run& run) {
  Batch<V> batch;
  for (std::size_t begin = 0; begin < jobs.size(); begin += kBatchJobs) {
    std::uint64_t vectors = 0;
    batch.jobs = 0;
    for (std::size_t j = begin; j < jobs.size() && batch.jobs < kBatchJobs; ++j) {
      batch.first[batch.jobs] = vectors;
      batch.job[batch.jobs++] = jobs[j];
      vectors += jobs[j].count;
    }
    PENSTOCK_TRY(run(batch, vectors));
  }
  return {};
}

/// Every batch of every vector size.
template <class Run>
Status for_each_batch(const KernelJobs& jobs, const Run& run) {
  PENSTOCK_TRY(for_each_batch<std::uint8_t>(jobs[0], run));
  PENSTOCK_TRY(for_each_batch<std::uint16_t>(jobs[1], run));
  PENSTOCK_TRY(for_each_batch<std::uint32_t>(jobs[2], run));
  PENSTOCK_TRY(for_each_batch<Bytes8>(jobs[3], run));
  return for_each_batch<Bytes16>(jobs[4], run);
}

/// Launches them all.  Errors: as place_cuda.
Status run_cuda(const KernelJobs& jobs, const Stream& stream);

}  // namespace penstock::place

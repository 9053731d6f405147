#include "device/cuda/launch.cuh"
#include "ops/sample/lane.hpp"
#include "ops/sample/types.hpp"

namespace penstock::sample {

template <class T, class C>
Status run_on_cuda(const SampleJob<T, C>& job, const Stream& stream) {
  Status status;
  if (!with_lanes(job,
                  [&](const auto& lanes) { static_cast<void>(status = launch_cuda(stream, lanes.lanes(), lanes)); }))
    return unfit();
  return status;
}
#define PENSTOCK_INSTANTIATE(T, C) template Status run_on_cuda(const SampleJob<T, C>&, const Stream&);
PENSTOCK_SAMPLE_TYPES(PENSTOCK_INSTANTIATE)

}  // namespace penstock::sample

#include "device/cuda/launch.cuh"
#include "ops/sample/spline.hpp"
#include "ops/sample/types.hpp"

namespace penstock::sample {

template <class T, class C>
Status run_on_cuda(const SampleJob<T, C>& job, const Stream& stream) {
  // With a kernel of its own for each number of dimensions only where that is not one for each type too.
  if (job.order < 1 || !std::is_same_v<T, C>) return launch_cuda(stream, job.outputs, SampleElement<T, C>{job});
  Status status;
  if constexpr (std::is_same_v<T, C>)
    with_spline(job,
                [&](const auto& element) { static_cast<void>(status = launch_cuda(stream, job.outputs, element)); });
  return status;
}
#define PENSTOCK_INSTANTIATE(T, C) template Status run_on_cuda(const SampleJob<T, C>&, const Stream&);
PENSTOCK_SAMPLE_TYPES(PENSTOCK_INSTANTIATE)

}  // namespace penstock::sample

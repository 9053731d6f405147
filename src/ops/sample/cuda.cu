#include "device/cuda/launch.cuh"
#include "ops/sample/types.hpp"

namespace penstock::sample {

template <class T, class C>
Status run_on_cuda(const SampleJob<T, C>& job, const Stream& stream) {
  return launch_cuda(stream, job.outputs, SampleElement<T, C>{job});
}
#define PENSTOCK_INSTANTIATE(T, C) template Status run_on_cuda(const SampleJob<T, C>&, const Stream&);
PENSTOCK_SAMPLE_TYPES(PENSTOCK_INSTANTIATE)

}  // namespace penstock::sample

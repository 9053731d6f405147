#include "ops/sample/types.hpp"

namespace penstock::sample {

template <class T, class C>
Status run_on_cuda(const SampleJob<T, C>&, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}
#define PENSTOCK_INSTANTIATE(T, C) template Status run_on_cuda(const SampleJob<T, C>&, const Stream&);
PENSTOCK_SAMPLE_TYPES(PENSTOCK_INSTANTIATE)

}  // namespace penstock::sample

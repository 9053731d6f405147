#include "ops/fourier/fourier.hpp"

namespace penstock::fourier {

template <class F>
Status run_on_cuda(const F&, std::uint64_t, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}
#define PENSTOCK_INSTANTIATE(F) template Status run_on_cuda(const F&, std::uint64_t, const Stream&);
PENSTOCK_FOURIER_JOBS(PENSTOCK_INSTANTIATE)

template <class C>
Status transform_on_cuda(const LinesJob<C>&, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}
template Status transform_on_cuda(const LinesJob<float>&, const Stream&);
template Status transform_on_cuda(const LinesJob<double>&, const Stream&);

}  // namespace penstock::fourier

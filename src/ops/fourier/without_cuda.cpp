#include "ops/fourier/fourier.hpp"

namespace penstock::fourier {

template <class F>
Status run_on_cuda(const F&, std::uint64_t, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}
#define PENSTOCK_INSTANTIATE(F) template Status run_on_cuda(const F&, std::uint64_t, const Stream&);
PENSTOCK_FOURIER_JOBS(PENSTOCK_INSTANTIATE)

}  // namespace penstock::fourier

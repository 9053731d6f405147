#include "oct/kernels/run.hpp"

namespace penstock::oct {

template <class F>
Status run_on_cuda(const F&, std::uint64_t, const Stream&) {
  return Error(ErrorCode::unsupported, "oct on CUDA: " + cuda_unavailable_reason());
}
#define PENSTOCK_INSTANTIATE(F) template Status run_on_cuda(const F&, std::uint64_t, const Stream&);
PENSTOCK_OCT_KERNELS(PENSTOCK_INSTANTIATE)

}  // namespace penstock::oct

#include "oct/jobs.hpp"
#include "oct/work.hpp"

namespace penstock::oct {

template <class F>
Status run_on_cuda(const F&, std::uint64_t, const Stream&) {
  return Error(ErrorCode::unsupported, "steps on CUDA: " + cuda_unavailable_reason());
}
#define PENSTOCK_INSTANTIATE(F) template Status run_on_cuda(const F&, std::uint64_t, const Stream&);
PENSTOCK_OCT_JOBS(PENSTOCK_INSTANTIATE)

}  // namespace penstock::oct

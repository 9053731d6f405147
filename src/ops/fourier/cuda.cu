#include "device/cuda/launch.cuh"
#include "ops/fourier/fourier.hpp"

namespace penstock::fourier {

template <class F>
Status run_on_cuda(const F& f, std::uint64_t count, const Stream& stream) {
  return launch_cuda(stream, count, f);
}
#define PENSTOCK_INSTANTIATE(F) template Status run_on_cuda(const F&, std::uint64_t, const Stream&);
PENSTOCK_FOURIER_JOBS(PENSTOCK_INSTANTIATE)

}  // namespace penstock::fourier

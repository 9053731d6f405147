#include "device/cuda/launch.cuh"
#include "device/cuda/team.cuh"
#include "ops/fourier/fourier.hpp"

namespace penstock::fourier {

template <class F>
Status run_on_cuda(const F& f, std::uint64_t count, const Stream& stream) {
  return launch_cuda(stream, count, f);
}
#define PENSTOCK_INSTANTIATE(F) template Status run_on_cuda(const F&, std::uint64_t, const Stream&);
PENSTOCK_FOURIER_JOBS(PENSTOCK_INSTANTIATE)

namespace {

constexpr std::uint32_t kThreads = 128;

template <class C>
__global__ void __launch_bounds__(kThreads) transform_kernel(const __grid_constant__ LinesJob<C> job) {
  extern __shared__ __align__(16) unsigned char shared[];
  for (std::uint64_t tile = blockIdx.x; tile < job.tiles(); tile += gridDim.x)
    transform_tile(CudaBlockTeam<kThreads>{}, job, tile, reinterpret_cast<Complex<C>*>(shared));
}

}  // namespace

template <class C>
Status transform_on_cuda(const LinesJob<C>& job, const Stream& stream) {
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const auto blocks = static_cast<unsigned>(job.tiles() < kLaunchBlocks ? job.tiles() : kLaunchBlocks);
  const std::size_t bytes = job.elements() * sizeof(Complex<C>);
  transform_kernel<<<blocks, kThreads, bytes, static_cast<cudaStream_t>(stream.native())>>>(job);
  return cuda_status(cudaGetLastError(), "launching a Fourier transform");
}
template Status transform_on_cuda(const LinesJob<float>&, const Stream&);
template Status transform_on_cuda(const LinesJob<double>&, const Stream&);

}  // namespace penstock::fourier

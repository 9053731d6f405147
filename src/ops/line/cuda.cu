#include "device/cuda/launch.cuh"
#include "device/cuda/team.cuh"
#include "ops/line/box.hpp"
#include "ops/line/extend.hpp"
#include "ops/line/line.hpp"
#include "ops/line/spline.hpp"
#include "ops/line/types.hpp"
#include "ops/tuning.hpp"

namespace penstock::line {
namespace {

constexpr std::uint32_t kThreads = 256;

template <class T, class C>
__global__ void __launch_bounds__(kThreads)
    line_kernel(const __grid_constant__ LineJob<T, C> job, const __grid_constant__ TileShape shape) {
  extern __shared__ __align__(16) unsigned char shared[];
  line_tile(CudaBlockTeam<kThreads>{}, job, shape, blockIdx.x, reinterpret_cast<C*>(shared));
}

}  // namespace

template <class T, class C>
Status run_on_cuda(const LineJob<T, C>& job, const Stream& stream) {
  if (job.shape.outputs() == 0) return {};
  TileShape shape;
  shape.taps = job.taps;
  const std::size_t bytes = shape.elements(job.shape) * sizeof(C);
  const std::uint64_t tiles = shape.tiles(job.shape);
  if (job.operation == Operation::blend || job.taps == 1 || bytes > tuning::kSharedBytes || tiles > INT32_MAX)
    return launch_cuda(stream, job.shape.outputs(), LineElement<T, C>{job});
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  line_kernel<<<static_cast<unsigned>(tiles), kThreads, bytes, static_cast<cudaStream_t>(stream.native())>>>(job,
                                                                                                             shape);
  return cuda_status(cudaGetLastError(), "launching a filter");
}

#define PENSTOCK_INSTANTIATE(T, C) template Status run_on_cuda(const LineJob<T, C>&, const Stream&);
PENSTOCK_LINE_TYPES(PENSTOCK_INSTANTIATE)

template <class W>
Status extend_on_cuda(const ExtendJob<W>& job, const Stream& stream) {
  return launch_cuda(stream, job.lanes(), job);
}
template Status extend_on_cuda(const ExtendJob<std::uint8_t>&, const Stream&);
template Status extend_on_cuda(const ExtendJob<std::uint16_t>&, const Stream&);
template Status extend_on_cuda(const ExtendJob<std::uint32_t>&, const Stream&);
template Status extend_on_cuda(const ExtendJob<std::uint64_t>&, const Stream&);

template <class T>
Status run_box_on_cuda(const BoxJob<T>& job, bool least, const Stream& stream) {
  const auto run = [&](const auto& columns) { return launch_cuda(stream, columns.lanes(), columns); };
  return least ? run(BoxColumn<T, true>{job}) : run(BoxColumn<T, false>{job});
}
#define PENSTOCK_INSTANTIATE_BOX(T) template Status run_box_on_cuda(const BoxJob<T>&, bool, const Stream&);
PENSTOCK_BOX_TYPES(PENSTOCK_INSTANTIATE_BOX)

template <class C>
Status splines_on_cuda(const SplineJob<C>& job, const Stream& stream) {
  return launch_cuda(stream, job.shape.outer * job.shape.inner, SplineLine<C>{job});
}
template Status splines_on_cuda(const SplineJob<float>&, const Stream&);
template Status splines_on_cuda(const SplineJob<double>&, const Stream&);

}  // namespace penstock::line

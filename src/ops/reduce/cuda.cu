#include "device/cuda/launch.cuh"
#include "device/cuda/team.cuh"
#include "ops/reduce/reduce.hpp"

namespace penstock::reduce {
namespace {

constexpr std::uint32_t kWarps = 8;  // of a block
/// Lanes of a team that makes an output at once.
constexpr std::uint32_t kTogether = 512;

template <class Op>
__global__ void __launch_bounds__(kWarps* CudaTeam::lanes)
    reduce_kernel(const __grid_constant__ ReduceJob<Op> job, std::uint64_t tiles) {
  __shared__ typename Op::Held shared[kWarps][CudaTeam::lanes];
  const std::uint32_t warp = threadIdx.x / CudaTeam::lanes;
  for (std::uint64_t tile = std::uint64_t{blockIdx.x} * kWarps + warp; tile < tiles;
       tile += std::uint64_t{gridDim.x} * kWarps)
    reduce_tile(CudaTeam{}, job, tile, shared[warp]);
}

/// A warp for each accumulator.
template <class Op>
Status launch_tiles(const Stream& stream, const ReduceJob<Op>& job) {
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const std::uint64_t wanted = (job.lanes() + kWarps - 1) / kWarps;
  const auto blocks = static_cast<unsigned>(wanted < kLaunchBlocks ? wanted : kLaunchBlocks);
  reduce_kernel<<<blocks, kWarps * CudaTeam::lanes, 0, static_cast<cudaStream_t>(stream.native())>>>(job, job.lanes());
  return cuda_status(cudaGetLastError(), "launching a reduction");
}

template <class Op, class Out>
__global__ void __launch_bounds__(kTogether) whole_kernel(const __grid_constant__ WholeJob<Op, Out> job) {
  __shared__ typename Op::Held shared[kTogether];
  for (std::uint64_t tile = blockIdx.x; tile < job.box.shape.outputs; tile += gridDim.x)
    make_tile(CudaBlockTeam<kTogether>{}, job, tile, shared);
}

}  // namespace

Status add_on_cuda(const BoxPass& box, const Stream& stream) {
  Status status;
  with_pass(box.pass, box.dtype, [&]<class Op>(TypeTag<Op>) {
    const ReduceJob<Op> job = job_of<Op>(box);
    if (box.parts_together) return static_cast<void>(status = launch_tiles(stream, job));
    if constexpr (sizeof(typename Op::In) <= 4) {
      using Columns = ReduceColumns<Op>;
      if (Columns::fits(job)) {
        const Columns columns{job};
        return static_cast<void>(status = launch_cuda(stream, columns.lanes(), columns));
      }
    }
    static_cast<void>(status = launch_cuda(stream, job.lanes(), job));
  });
  return status;
}

Status fill_on_cuda(void* to, std::uint64_t bits, std::uint64_t item, std::uint64_t count, const Stream& stream) {
  const auto as = [&]<class Word>(Word value) {
    return launch_cuda(stream, count, FillJob<Word>{static_cast<Word*>(to), value});
  };
  switch (item) {
    case 1: return as(static_cast<std::uint8_t>(bits));
    case 2: return as(static_cast<std::uint16_t>(bits));
    case 4: return as(static_cast<std::uint32_t>(bits));
    default: return as(bits);
  }
}

Status finish_on_cuda(const Finish& how, std::uint64_t count, const Stream& stream) {
  Status status;
  with_finish(how, [&](const auto& job) { static_cast<void>(status = launch_cuda(stream, count, job)); });
  return status;
}

Status make_on_cuda(const BoxPass& box, const Finish& how, const Stream& stream) {
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const auto blocks = static_cast<unsigned>(box.shape.outputs < kLaunchBlocks ? box.shape.outputs : kLaunchBlocks);
  with_whole(box, how, [&](const auto& job) {
    whole_kernel<<<blocks, kTogether, 0, static_cast<cudaStream_t>(stream.native())>>>(job);
  });
  return cuda_status(cudaGetLastError(), "launching a reduction");
}

}  // namespace penstock::reduce

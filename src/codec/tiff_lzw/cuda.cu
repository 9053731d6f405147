#include "codec/tiff_lzw/device.hpp"
#include "codec/tiff_lzw/kernel.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::tiff {
namespace {

// One warp a block: its table is what limits how many run on a multiprocessor.
__global__ void __launch_bounds__(CudaTeam::lanes)
    lzw_kernel(const DecodeTask* tasks, ChunkStatus* results, LzwVariant variant) {
  __shared__ LzwShared shared;
  const ChunkStatus result = decode_lzw_chunk(CudaTeam{}, tasks[blockIdx.x], variant, shared);
  if (threadIdx.x == 0) results[blockIdx.x] = result;
}

constexpr unsigned kFindWarps = 8;  // of a block, a tile each

__global__ void __launch_bounds__(kFindWarps* CudaTeam::lanes)
    lzw_find_kernel(const DecodeTask* tasks, unsigned count, const __grid_constant__ LzwScratch plan) {
  const unsigned tile = blockIdx.x * kFindWarps + threadIdx.x / CudaTeam::lanes;
  if (tile >= count) return;
  find_lzw_segments(CudaTeam{}, tasks[tile], plan.slots, plan.tiles[tile],
                    plan.segments + std::uint64_t{tile} * plan.slots);
}

__global__ void __launch_bounds__(CudaTeam::lanes)
    lzw_measure_kernel(const DecodeTask* tasks, const __grid_constant__ LzwScratch plan) {
  __shared__ LzwShared shared;
  const unsigned tile = blockIdx.x / plan.slots, slot = blockIdx.x % plan.slots;
  measure_lzw_segment(CudaTeam{}, tasks[tile], plan.tiles[tile], plan.segments + std::uint64_t{tile} * plan.slots, slot,
                      shared);
}

__global__ void __launch_bounds__(CudaTeam::lanes)
    lzw_decode_kernel(const DecodeTask* tasks, ChunkStatus* results, const __grid_constant__ LzwScratch plan) {
  __shared__ LzwShared shared;
  const unsigned tile = blockIdx.x / plan.slots, slot = blockIdx.x % plan.slots;
  decode_lzw_segment(CudaTeam{}, tasks[tile], plan.tiles[tile], plan.segments + std::uint64_t{tile} * plan.slots, slot,
                     shared, results[tile]);
}

/// What a multiprocessor has of it decides how many teams run there, so all of it is for them and none for the cache.
template <class Kernel>
Status give_all_shared_memory(Kernel kernel) {
  return cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
      "shared memory for the LZW decoder");
}

}  // namespace

Status decode_lzw_cuda(const DeviceBatch& batch, LzwVariant variant, ByteSpan scratch, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "LZW on CUDA needs a CUDA stream");
  const std::uint32_t count = batch.size.count;
  if (count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  auto* const native = static_cast<cudaStream_t>(stream.native());
  const LzwScratch plan = LzwScratch::in(scratch, batch.size);
  const std::uint64_t blocks = std::uint64_t{count} * plan.slots;
  if (scratch.empty() || variant != LzwVariant::standard || blocks > 0x7FFFFFFF) {
    lzw_kernel<<<count, CudaTeam::lanes, 0, native>>>(batch.tasks, batch.results, variant);
    return cuda_status(cudaGetLastError(), "launching the LZW decoder");
  }
  PENSTOCK_TRY(give_all_shared_memory(lzw_measure_kernel));
  PENSTOCK_TRY(give_all_shared_memory(lzw_decode_kernel));
  const auto grid = static_cast<unsigned>(blocks);
  lzw_find_kernel<<<(count + kFindWarps - 1) / kFindWarps, kFindWarps * CudaTeam::lanes, 0, native>>>(batch.tasks,
                                                                                                      count, plan);
  lzw_measure_kernel<<<grid, CudaTeam::lanes, 0, native>>>(batch.tasks, plan);
  lzw_decode_kernel<<<grid, CudaTeam::lanes, 0, native>>>(batch.tasks, batch.results, plan);
  return cuda_status(cudaGetLastError(), "launching the LZW decoder");
}

}  // namespace penstock::tiff

#include "codec/tiff_lzw/device.hpp"
#include "codec/tiff_lzw/segments.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/warp.cuh"

namespace penstock::tiff {
namespace {

// One warp a block: its table is what limits how many run on a multiprocessor.
template <bool kOldStyle>
__global__ void __launch_bounds__(CudaWarp::lanes) lzw_kernel(const DecodeTask* tasks, ChunkStatus* results) {
  __shared__ LzwShared shared;
  const ChunkStatus result = decode_lzw_chunk<kOldStyle>(CudaWarp{}, tasks[blockIdx.x], shared);
  if (threadIdx.x == 0) results[blockIdx.x] = result;
}

constexpr unsigned kFindWarps = 8;  // of a block, a tile each

__global__ void __launch_bounds__(kFindWarps* CudaWarp::lanes)
    lzw_find_kernel(const DecodeTask* tasks, unsigned count, const __grid_constant__ LzwScratch plan) {
  const unsigned tile = blockIdx.x * kFindWarps + threadIdx.x / CudaWarp::lanes;
  if (tile >= count) return;
  find_lzw_segments(CudaWarp{}, tasks[tile], plan.slots, plan.tiles[tile],
                    plan.segments + std::uint64_t{tile} * plan.slots);
}

__global__ void __launch_bounds__(CudaWarp::lanes)
    lzw_measure_kernel(const DecodeTask* tasks, const __grid_constant__ LzwScratch plan) {
  __shared__ LzwShared shared;
  const unsigned tile = blockIdx.x / plan.slots, slot = blockIdx.x % plan.slots;
  measure_lzw_segment(CudaWarp{}, tasks[tile], plan.tiles[tile], plan.segments + std::uint64_t{tile} * plan.slots, slot,
                      shared);
}

__global__ void __launch_bounds__(CudaWarp::lanes)
    lzw_decode_kernel(const DecodeTask* tasks, ChunkStatus* results, const __grid_constant__ LzwScratch plan) {
  __shared__ LzwShared shared;
  const unsigned tile = blockIdx.x / plan.slots, slot = blockIdx.x % plan.slots;
  decode_lzw_segment(CudaWarp{}, tasks[tile], plan.tiles[tile], plan.segments + std::uint64_t{tile} * plan.slots, slot,
                     shared, results[tile]);
}

/// What a multiprocessor has of it decides how many teams run there, so all of it is for them and none for the cache.
template <class Kernel>
Status give_all_shared_memory(Kernel kernel) {
  return cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
      "shared memory for the LZW decoder");
}

/// How many teams of a kernel run at once on the current device.
template <class Kernel>
Result<std::uint32_t> teams_at_once(Kernel kernel) {
  int device = 0, multiprocessors = 0, each = 0;
  PENSTOCK_TRY(cuda_status(cudaGetDevice(&device), "asking for the device"));
  PENSTOCK_TRY(cuda_status(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
                           "asking for the multiprocessors"));
  PENSTOCK_TRY(cuda_status(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, CudaWarp::lanes, 0),
                           "asking how many LZW decoders run at once"));
  return static_cast<std::uint32_t>(multiprocessors * each);
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
  const bool old_style = variant == LzwVariant::old_style;
  const auto whole = old_style ? lzw_kernel<true> : lzw_kernel<false>;
  PENSTOCK_TRY(give_all_shared_memory(whole));
  PENSTOCK_ASSIGN(const std::uint32_t at_once, teams_at_once(whole));
  const LzwScratch plan = LzwScratch::in(scratch, batch.size);
  const std::uint64_t blocks = std::uint64_t{count} * plan.slots;
  // Tiles enough for all teams: one each, in one pass.
  if (scratch.empty() || old_style || count >= at_once || blocks > 0x7FFFFFFF) {
    whole<<<count, CudaWarp::lanes, 0, native>>>(batch.tasks, batch.results);
    return cuda_status(cudaGetLastError(), "launching the LZW decoder");
  }
  PENSTOCK_TRY(give_all_shared_memory(lzw_measure_kernel));
  PENSTOCK_TRY(give_all_shared_memory(lzw_decode_kernel));
  const auto grid = static_cast<unsigned>(blocks);
  lzw_find_kernel<<<(count + kFindWarps - 1) / kFindWarps, kFindWarps * CudaWarp::lanes, 0, native>>>(batch.tasks,
                                                                                                      count, plan);
  lzw_measure_kernel<<<grid, CudaWarp::lanes, 0, native>>>(batch.tasks, plan);
  lzw_decode_kernel<<<grid, CudaWarp::lanes, 0, native>>>(batch.tasks, batch.results, plan);
  return cuda_status(cudaGetLastError(), "launching the LZW decoder");
}

}  // namespace penstock::tiff

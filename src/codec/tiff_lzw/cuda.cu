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

}  // namespace

Status decode_lzw_cuda(const DeviceBatch& batch, LzwVariant variant, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "LZW on CUDA needs a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  lzw_kernel<<<batch.size.count, CudaTeam::lanes, 0, static_cast<cudaStream_t>(stream.native())>>>(
      batch.tasks, batch.results, variant);
  return cuda_status(cudaGetLastError(), "launching the LZW decoder");
}

}  // namespace penstock::tiff

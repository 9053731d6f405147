#include "codec/deflate/device.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::deflate {
namespace {

__global__ void __launch_bounds__(CudaTeam::lanes)
    decode_kernel(const DecodeTask* tasks, ChunkStatus* results, Container container,
                  const __grid_constant__ checksum::Kind crc32) {
  __shared__ Shared shared;
  const ChunkStatus result = decode_chunk(CudaTeam{}, tasks[blockIdx.x], container, crc32.crc, shared);
  if (CudaTeam::lane() == 0) results[blockIdx.x] = result;
}

}  // namespace

Status decode_cuda(const DeviceBatch& batch, Container container, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "DEFLATE on CUDA needs a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  decode_kernel<<<batch.size.count, CudaTeam::lanes, 0, static_cast<cudaStream_t>(stream.native())>>>(
      batch.tasks, batch.results, container, checksum::Kind(checksum::Sum::crc32));
  return cuda_status(cudaGetLastError(), "launching the DEFLATE decoder");
}

}  // namespace penstock::deflate

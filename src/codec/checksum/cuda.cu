#include "codec/checksum/device.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::checksum {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads) check_kernel(const DecodeTask* tasks, ChunkStatus* results,
                                                         const __grid_constant__ Kind kind, std::uint32_t front) {
  __shared__ Shared shared;
  const ChunkStatus result = check_chunk(CudaBlockTeam<kThreads>{}, tasks[blockIdx.x], kind, front, shared);
  if (threadIdx.x == 0) results[blockIdx.x] = result;
}

__global__ void __launch_bounds__(kThreads)
    append_kernel(const __grid_constant__ EncodeBatch batch, const __grid_constant__ Kind kind, std::uint32_t front) {
  __shared__ Shared shared;
  append_checksum(CudaBlockTeam<kThreads>{}, batch, blockIdx.x, kind, front, shared);
}

}  // namespace

Status check_cuda(const DeviceBatch& batch, const Kind& kind, std::uint32_t front, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "checksums on CUDA need a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  check_kernel<<<batch.size.count, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(
      batch.tasks, batch.results, kind, front);
  return cuda_status(cudaGetLastError(), "launching the checksums");
}

Status append_cuda(const EncodeBatch& batch, const Kind& kind, std::uint32_t front, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "checksums on CUDA need a CUDA stream");
  if (batch.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  append_kernel<<<batch.count, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(batch, kind, front);
  return cuda_status(cudaGetLastError(), "launching the checksums");
}

}  // namespace penstock::checksum

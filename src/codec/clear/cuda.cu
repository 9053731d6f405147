#include "codec/clear/clear.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock {
namespace {

constexpr unsigned kThreads = 128;

__global__ void __launch_bounds__(kThreads) clear_kernel(const DecodeTask* tasks, const ChunkStatus* results) {
  clear_refused(CudaBlockTeam<kThreads>{}, tasks[blockIdx.x], results[blockIdx.x]);
}

}  // namespace

Status clear_refused_cuda(const DeviceBatch& batch, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "clearing on CUDA needs a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  clear_kernel<<<batch.size.count, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(batch.tasks,
                                                                                              batch.results);
  return cuda_status(cudaGetLastError(), "clearing refused chunks");
}

}  // namespace penstock

#include "codec/delta/device.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::delta {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    delta_kernel(const DecodeTask* tasks, ChunkStatus* results, ScalarType from, ScalarType to) {
  __shared__ Shared<kThreads> shared;
  const ChunkStatus result = decode_chunk(CudaBlockTeam<kThreads>{}, tasks[blockIdx.x], from, to, shared);
  if (threadIdx.x == 0) results[blockIdx.x] = result;
}

}  // namespace

Status decode_cuda(const DeviceBatch& batch, ScalarType from, ScalarType to, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "delta on CUDA needs a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  delta_kernel<<<batch.size.count, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(batch.tasks,
                                                                                              batch.results, from, to);
  return cuda_status(cudaGetLastError(), "launching delta");
}

}  // namespace penstock::delta

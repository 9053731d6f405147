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

template <class T>
__global__ void __launch_bounds__(CudaTeam::lanes)
    float_delta_kernel(const DecodeTask* tasks, ChunkStatus* results, FloatDelta delta) {
  __shared__ FloatShared<T> shared;
  const ChunkStatus result = decode_floats(CudaTeam{}, tasks[blockIdx.x], delta.from, delta.to, delta.parts, shared);
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

Status decode_floats_cuda(const DeviceBatch& batch, const FloatDelta& delta, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "delta on CUDA needs a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  auto* const queue = static_cast<cudaStream_t>(stream.native());
  if (delta.sum_bytes == 4)
    float_delta_kernel<float><<<batch.size.count, CudaTeam::lanes, 0, queue>>>(batch.tasks, batch.results, delta);
  else
    float_delta_kernel<double><<<batch.size.count, CudaTeam::lanes, 0, queue>>>(batch.tasks, batch.results, delta);
  return cuda_status(cudaGetLastError(), "launching delta");
}

}  // namespace penstock::delta

#include "codec/lz4_frame/device.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::lz4_frame {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads) decode_kernel(const DecodeTask* tasks, ChunkStatus* results) {
  __shared__ SharedOfBlock shared;
  const ChunkStatus result = decode_chunk(CudaBlockTeam<kThreads>{}, tasks[blockIdx.x], shared);
  if (threadIdx.x == 0) results[blockIdx.x] = result;
}

}  // namespace

Status decode_cuda(const DeviceBatch& batch, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "LZ4 frames on CUDA need a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  decode_kernel<<<batch.size.count, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(batch.tasks,
                                                                                               batch.results);
  return cuda_status(cudaGetLastError(), "launching the decoder of LZ4 frames");
}

}  // namespace penstock::lz4_frame

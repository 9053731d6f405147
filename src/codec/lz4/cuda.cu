#include "codec/lz4/device.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::lz4 {
namespace {

constexpr unsigned kThreads = 128;  // 4 chunks a block: few enough that a batch of some hundreds spreads over the GPU
constexpr unsigned kChunksPerBlock = kThreads / CudaTeam::lanes;

__global__ void __launch_bounds__(kThreads)
    decode_kernel(const DecodeTask* tasks, std::uint32_t count, ChunkStatus* results, Framing framing) {
  const std::uint32_t chunk = blockIdx.x * kChunksPerBlock + threadIdx.x / CudaTeam::lanes;
  if (chunk >= count) return;  // whole warps
  const ChunkStatus result = decode_chunk(CudaTeam{}, tasks[chunk], framing);
  if (CudaTeam::lane() == 0) results[chunk] = result;
}

}  // namespace

Status decode_cuda(const DecodeTask* tasks, std::uint32_t count, ChunkStatus* results, Framing framing,
                   const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "lz4 on CUDA needs a CUDA stream, not one of " + stream.device().name());
  if (count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const unsigned blocks = (count - 1) / kChunksPerBlock + 1;
  decode_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(tasks, count, results, framing);
  return cuda_status(cudaGetLastError(), "launching the lz4 decoder");
}

}  // namespace penstock::lz4

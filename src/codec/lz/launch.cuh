// The CUDA side of codec/lz/device.hpp.
#pragma once
#include "codec/lz/device.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::lz {

// Many chunks: a warp each, so that an SM has many of them under way.  Few: a block each, so that what comes after the
// serial walk along the tokens is quick.
inline constexpr unsigned kWarpsPerBlock = 4;
inline constexpr unsigned kBlockThreads = 256;
inline constexpr std::uint32_t kManyChunks = 2048;

template <class Format>
__global__ void __launch_bounds__(kWarpsPerBlock* CudaTeam::lanes)
    decode_by_warps(const __grid_constant__ Format format, const DecodeTask* tasks, std::uint32_t count,
                    ChunkStatus* results) {
  __shared__ SharedOfWarp shared[kWarpsPerBlock];
  const std::uint32_t warp = threadIdx.x / CudaTeam::lanes;
  const std::uint32_t chunk = blockIdx.x * kWarpsPerBlock + warp;
  if (chunk >= count) return;  // whole warps
  const ChunkStatus result = decode_chunk(CudaTeam{}, format, tasks[chunk], shared[warp]);
  if (CudaTeam::lane() == 0) results[chunk] = result;
}

template <class Format>
__global__ void __launch_bounds__(kBlockThreads)
    decode_by_blocks(const __grid_constant__ Format format, const DecodeTask* tasks, ChunkStatus* results) {
  __shared__ SharedOfBlock shared;
  const ChunkStatus result = decode_chunk(CudaBlockTeam<kBlockThreads>{}, format, tasks[blockIdx.x], shared);
  if (threadIdx.x == 0) results[blockIdx.x] = result;
}

template <class Format>
Status decode_cuda(const Format& format, const DeviceBatch& batch, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, std::string(Format::kName) + " on CUDA needs a CUDA stream");
  const std::uint32_t count = batch.size.count;
  if (count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  auto* const queue = static_cast<cudaStream_t>(stream.native());
  if (count >= kManyChunks) {
    const unsigned blocks = (count - 1) / kWarpsPerBlock + 1;
    decode_by_warps<<<blocks, kWarpsPerBlock * CudaTeam::lanes, 0, queue>>>(format, batch.tasks, count, batch.results);
  } else {
    decode_by_blocks<<<count, kBlockThreads, 0, queue>>>(format, batch.tasks, batch.results);
  }
  return cuda_status(cudaGetLastError(), "launching the " + std::string(Format::kName) + " decoder");
}

}  // namespace penstock::lz

#include "codec/zstd/encode/device.hpp"
#include "codec/zstd/encode/encode.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::zstd {
namespace {

// A warp for each block of a frame.  One warp a block of threads where shared memory limits how many run.
constexpr unsigned kLanes = CudaTeam::lanes;
constexpr unsigned kWarpsPerBlock = 4;

__global__ void __launch_bounds__(kLanes)
    find_kernel(const __grid_constant__ EncodeBatch batch, const __grid_constant__ EncodeLayout layout) {
  __shared__ lz::FinderShared shared;
  find_pass(CudaTeam{}, batch, layout, blockIdx.x, shared);
}

__global__ void __launch_bounds__(kLanes)
    code_kernel(const __grid_constant__ EncodeBatch batch, const __grid_constant__ EncodeLayout layout,
                const __grid_constant__ PredefinedCoders coders) {
  __shared__ BlockShared shared;
  code_pass(CudaTeam{}, batch, layout, blockIdx.x, coders, shared);
}

__global__ void __launch_bounds__(kLanes)
    join_kernel(const __grid_constant__ EncodeBatch batch, const __grid_constant__ EncodeLayout layout) {
  if (threadIdx.x == 0) join_pass(batch, layout, blockIdx.x);
}

__global__ void __launch_bounds__(kWarpsPerBlock* kLanes)
    write_kernel(const __grid_constant__ EncodeBatch batch, const __grid_constant__ EncodeLayout layout,
                 std::uint64_t blocks) {
  const std::uint64_t number = std::uint64_t{blockIdx.x} * kWarpsPerBlock + threadIdx.x / kLanes;
  if (number < blocks) write_pass(CudaTeam{}, batch, layout, number);
}

__global__ void __launch_bounds__(kLanes) checksum_kernel(const __grid_constant__ EncodeBatch batch) {
  __shared__ ChecksumShared<kLanes> shared;
  checksum_pass(CudaTeam{}, batch, blockIdx.x, shared);
}

}  // namespace

Status encode_cuda(const EncodeBatch& batch, ByteSpan scratch, bool checksum, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "zstd on CUDA needs a CUDA stream, not one of " + stream.device().name());
  if (batch.count == 0) return {};
  const EncodeLayout layout = EncodeLayout::make(batch.count, batch.largest_bytes, checksum, scratch.data());
  const std::uint64_t blocks = std::uint64_t{batch.count} * layout.each;
  if (blocks > INT32_MAX) return Error(ErrorCode::invalid_argument, "zstd: too many bytes for one batch");
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  auto* const queue = static_cast<cudaStream_t>(stream.native());
  const auto grid = static_cast<unsigned>(blocks);
  if (grid > 0) {
    find_kernel<<<grid, kLanes, 0, queue>>>(batch, layout);
    code_kernel<<<grid, kLanes, 0, queue>>>(batch, layout, PredefinedCoders::make());
  }
  join_kernel<<<batch.count, kLanes, 0, queue>>>(batch, layout);
  if (grid > 0)
    write_kernel<<<(grid - 1) / kWarpsPerBlock + 1, kWarpsPerBlock * kLanes, 0, queue>>>(batch, layout, blocks);
  if (checksum) checksum_kernel<<<batch.count, kLanes, 0, queue>>>(batch);
  return cuda_status(cudaGetLastError(), "launching the zstd encoder");
}

}  // namespace penstock::zstd

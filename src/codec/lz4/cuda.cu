#include "codec/lz/launch.cuh"
#include "codec/lz4/device.hpp"
#include "codec/lz4/encode.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::lz4 {
namespace {

/// Segments that a block of threads writes, a warp each.
constexpr unsigned kWritingWarps = 4;

// A warp for each segment.  One warp a block: its tables are all that limits how many run on a multiprocessor.
__global__ void __launch_bounds__(CudaTeam::lanes)
    find_matches_kernel(const __grid_constant__ EncodeBatch batch, const __grid_constant__ EncodeLayout layout) {
  __shared__ lz::FinderShared shared;
  find_pass(CudaTeam{}, batch, layout, blockIdx.x, shared);
}

__global__ void __launch_bounds__(CudaTeam::lanes)
    join_kernel(const __grid_constant__ EncodeBatch batch, const __grid_constant__ EncodeLayout layout,
                Framing framing) {
  if (threadIdx.x == 0) join_pass(batch, layout, framing, blockIdx.x);
}

__global__ void __launch_bounds__(kWritingWarps* CudaTeam::lanes)
    write_segments_kernel(const __grid_constant__ EncodeBatch batch, const __grid_constant__ EncodeLayout layout,
                          std::uint64_t segments) {
  const std::uint64_t number = std::uint64_t{blockIdx.x} * kWritingWarps + threadIdx.x / CudaTeam::lanes;
  if (number < segments) write_pass(CudaTeam{}, batch, layout, number);
}

}  // namespace

Status encode_cuda(const EncodeBatch& batch, ByteSpan scratch, Framing framing, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "lz4 on CUDA needs a CUDA stream, not one of " + stream.device().name());
  if (batch.count == 0) return {};
  const EncodeLayout layout = EncodeLayout::make(batch.count, batch.largest_bytes, scratch.data());
  const std::uint64_t segments = std::uint64_t{batch.count} * layout.each;
  if (segments > INT32_MAX) return Error(ErrorCode::invalid_argument, "lz4: too many bytes for one batch");
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  auto* const queue = static_cast<cudaStream_t>(stream.native());
  const auto grid = static_cast<unsigned>(segments);
  if (grid > 0) find_matches_kernel<<<grid, CudaTeam::lanes, 0, queue>>>(batch, layout);
  join_kernel<<<batch.count, CudaTeam::lanes, 0, queue>>>(batch, layout, framing);
  if (grid > 0) {
    const unsigned blocks = (grid - 1) / kWritingWarps + 1;
    write_segments_kernel<<<blocks, kWritingWarps * CudaTeam::lanes, 0, queue>>>(batch, layout, segments);
  }
  return cuda_status(cudaGetLastError(), "launching the lz4 encoder");
}

}  // namespace penstock::lz4

namespace penstock::lz {

template Status decode_cuda(const lz4::Format&, const DeviceBatch&, const Stream&);

}  // namespace penstock::lz

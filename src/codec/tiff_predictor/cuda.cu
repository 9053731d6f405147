#include <algorithm>

#include "codec/tiff_predictor/device.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::tiff {
namespace {

constexpr unsigned kWarps = 8;  // of a block, a row each

__global__ void __launch_bounds__(kWarps* CudaTeam::lanes)
    predictor_kernel(const __grid_constant__ PredictorKernel kernel, const DecodeTask* tasks, ChunkStatus* results,
                     unsigned blocks_each) {
  const unsigned chunk = blockIdx.x / blocks_each, part = blockIdx.x % blocks_each;
  const DecodeTask task = tasks[chunk];
  const ChunkStatus result = check_predictor(kernel, task);
  if (part == 0 && threadIdx.x == 0) results[chunk] = result;
  if (result.status != DecodeStatus::ok) return;
  const std::uint64_t warp = std::uint64_t{part} * kWarps + threadIdx.x / CudaTeam::lanes;
  for (std::uint64_t row = warp; row < kernel.rows.rows; row += std::uint64_t{blocks_each} * kWarps)
    undo_row_of_chunk(CudaTeam{}, kernel, task, row);
}

}  // namespace

Status undo_predictor_cuda(const DeviceBatch& batch, const PredictorKernel& kernel, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "predictors on CUDA need a CUDA stream");
  const std::uint32_t count = batch.size.count;
  if (count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const std::uint64_t wanted = kernel.rows.rows / kWarps + 1, most = 0x7FFFFFFF / count;  // blocks of a grid
  const auto each = static_cast<unsigned>(std::max<std::uint64_t>(1, std::min(wanted, most)));
  predictor_kernel<<<count * each, kWarps * CudaTeam::lanes, 0, static_cast<cudaStream_t>(stream.native())>>>(
      kernel, batch.tasks, batch.results, each);
  return cuda_status(cudaGetLastError(), "launching a predictor");
}

}  // namespace penstock::tiff

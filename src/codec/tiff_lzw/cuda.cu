#include "codec/tiff_lzw/block.hpp"
#include "codec/tiff_lzw/device.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::tiff {
namespace {

/// A block decodes a tile.  Many tiles: so many blocks at once that latencies hide behind each other; few: all codes
/// between two Clears together, so that each tile is done soon, by all of a multiprocessor or by half of it.
constexpr unsigned kWarpsOfMany = 8, kCodesOfMany = 1024, kWarpsOfSome = 16, kWarpsOfFew = 32, kCodesOfFew = 4096;
/// Tiles are few, or some, up to this many for each multiprocessor.
constexpr unsigned kFew = 1, kSome = 3;

template <bool kOldStyle, unsigned kWarpsHere, unsigned kCodesHere>
__global__ void __launch_bounds__(kWarpsHere* CudaTeam::lanes)
    lzw_kernel(const DecodeTask* tasks, ChunkStatus* results) {
  using Team = CudaBlockTeam<kWarpsHere * CudaTeam::lanes>;
  __shared__ LzwShared<Team::lanes, kCodesHere> shared;
  const ChunkStatus result = decode_lzw_chunk<kOldStyle>(Team{}, tasks[blockIdx.x], shared);
  if (threadIdx.x == 0) results[blockIdx.x] = result;
}

template <bool kOldStyle, unsigned kWarpsHere, unsigned kCodesHere>
Status launch(const DeviceBatch& batch, cudaStream_t stream) {
  const auto kernel = lzw_kernel<kOldStyle, kWarpsHere, kCodesHere>;
  // What a multiprocessor has of shared memory decides how many tiles are decoded there at once.
  PENSTOCK_TRY(cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
      "shared memory for the LZW decoder"));
  kernel<<<batch.size.count, kWarpsHere * CudaTeam::lanes, 0, stream>>>(batch.tasks, batch.results);
  return cuda_status(cudaGetLastError(), "launching the LZW decoder");
}

}  // namespace

Status decode_lzw_cuda(const DeviceBatch& batch, LzwVariant variant, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "LZW on CUDA needs a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  int multiprocessors = 0;
  PENSTOCK_TRY(
      cuda_status(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, stream.device().index),
                  "asking for the number of multiprocessors"));
  auto* const native = static_cast<cudaStream_t>(stream.native());
  if (variant == LzwVariant::old_style) return launch<true, kWarpsOfMany, kCodesOfMany>(batch, native);
  const auto at_most = [&](unsigned each) { return batch.size.count <= each * static_cast<unsigned>(multiprocessors); };
  if (at_most(kFew)) return launch<false, kWarpsOfFew, kCodesOfFew>(batch, native);
  if (at_most(kSome)) return launch<false, kWarpsOfSome, kCodesOfFew>(batch, native);
  return launch<false, kWarpsOfMany, kCodesOfMany>(batch, native);
}

}  // namespace penstock::tiff

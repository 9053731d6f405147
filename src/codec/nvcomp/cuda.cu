#include "codec/nvcomp/device.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::nvcomp {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads) open_kernel(const DecodeTask* tasks, ChunkStatus* results, unsigned count,
                                                        Format format, const __grid_constant__ Arrays arrays) {
  const unsigned chunk = blockIdx.x * kThreads + threadIdx.x;
  if (chunk < count) open_chunk(tasks[chunk], format, arrays, chunk, results);
  const Spare spare = spare_stream(format);
  if (blockIdx.x == 0 && threadIdx.x < spare.size) arrays.spare[threadIdx.x] = spare.bytes[threadIdx.x];
}

__global__ void __launch_bounds__(kThreads)
    finish_kernel(const DecodeTask* tasks, ChunkStatus* results, Format format, const __grid_constant__ Arrays arrays,
                  const __grid_constant__ checksum::Crc crc32) {
  __shared__ checksum::Shared shared;
  finish_chunk(CudaBlockTeam<kThreads>{}, tasks[blockIdx.x], format, arrays, blockIdx.x, crc32, results, shared);
}

}  // namespace

Status decode_cuda(const Library& library, Format format, const DeviceBatch& batch, const Arrays& arrays, ByteSpan temp,
                   const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "nvCOMP needs a CUDA stream");
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  auto* const queue = static_cast<cudaStream_t>(stream.native());
  const unsigned count = batch.size.count;
  open_kernel<<<(count - 1) / kThreads + 1, kThreads, 0, queue>>>(batch.tasks, batch.results, count, format, arrays);
  PENSTOCK_TRY(cuda_status(cudaGetLastError(), "launching what goes before nvCOMP"));
  const Outcome begun = library.of(format).decompress(arrays.in, arrays.in_bytes, arrays.room, arrays.out_bytes, count,
                                                      temp.data(), temp.size(), arrays.out, {}, arrays.outcomes, queue);
  if (begun != kSuccess)
    return Error(ErrorCode::device_error, library.name() + " did not begin: its status is " + std::to_string(begun));
  static constexpr checksum::Kind kCrc32(checksum::Sum::crc32);
  finish_kernel<<<count, kThreads, 0, queue>>>(batch.tasks, batch.results, format, arrays, kCrc32.crc);
  return cuda_status(cudaGetLastError(), "launching what comes after nvCOMP");
}

}  // namespace penstock::nvcomp

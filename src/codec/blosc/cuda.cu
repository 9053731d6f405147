#include "codec/blosc/blosclz.hpp"
#include "codec/blosc/device.hpp"
#include "codec/blosc/snappy.hpp"
#include "codec/lz/launch.cuh"
#include "device/cuda/error.hpp"
#include "device/cuda/team.cuh"

namespace penstock::blosc {
namespace {

constexpr unsigned kOpenWarps = 4;
constexpr unsigned kFinishThreads = 256;
/// Decoded bytes of a chunk that a block of threads unshuffles.
constexpr std::uint64_t kFinishBytes = std::uint64_t{64} << 10;

__global__ void __launch_bounds__(kOpenWarps* CudaTeam::lanes)
    open_kernel(const DecodeTask* tasks, std::uint64_t slots, const __grid_constant__ Workspace ws, Inner inner) {
  const std::uint64_t slot = std::uint64_t{blockIdx.x} * kOpenWarps + threadIdx.x / CudaTeam::lanes;
  if (slot >= slots) return;  // whole warps
  const auto chunk_index = static_cast<std::uint32_t>(slot / ws.slots);
  const DecodeTask task = tasks[chunk_index];
  const Chunk chunk = read_header(task, inner);
  const Opened opened = open_stream(CudaTeam{}, task, chunk, static_cast<std::uint32_t>(slot % ws.slots),
                                    streams_of(ws, task, chunk, chunk_index));
  if (CudaTeam::lane() != 0) return;
  ws.opened[slot] = opened;
  ws.tasks[slot] = opened.task;
}

__global__ void __launch_bounds__(kFinishThreads)
    finish_kernel(const DecodeTask* tasks, ChunkStatus* results, unsigned parts, const __grid_constant__ Workspace ws,
                  Inner inner) {
  __shared__ Shared shared;
  const unsigned c = blockIdx.x / parts, part = blockIdx.x % parts;
  const DecodeTask task = tasks[c];
  const Chunk chunk = read_header(task, inner);
  const std::uint64_t first = std::uint64_t{c} * ws.slots;
  const ChunkStatus result =
      finish_chunk(CudaBlockTeam<kFinishThreads>{}, task, chunk, ws.opened + first, ws.decoded + first, ws.slots,
                   streams_of(ws, task, chunk, c), part, parts, shared);
  if (part == 0 && threadIdx.x == 0) results[c] = result;
}

}  // namespace

Status open_cuda(const DeviceBatch& batch, const Workspace& ws, Inner inner, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "blosc on CUDA needs a CUDA stream");
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const std::uint64_t slots = std::uint64_t{batch.size.count} * ws.slots;
  const auto blocks = static_cast<unsigned>((slots - 1) / kOpenWarps + 1);
  open_kernel<<<blocks, kOpenWarps * CudaTeam::lanes, 0, static_cast<cudaStream_t>(stream.native())>>>(
      batch.tasks, slots, ws, inner);
  return cuda_status(cudaGetLastError(), "launching the blosc decoder");
}

Status finish_cuda(const DeviceBatch& batch, const Workspace& ws, Inner inner, const Stream& stream) {
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const std::uint64_t most = 0x7FFFFFFF / batch.size.count;
  const std::uint64_t wanted = batch.size.largest_bytes / kFinishBytes + 1;
  const auto parts = static_cast<unsigned>(wanted < most ? wanted : most);
  finish_kernel<<<batch.size.count * parts, kFinishThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(
      batch.tasks, batch.results, parts, ws, inner);
  return cuda_status(cudaGetLastError(), "launching the blosc decoder");
}

}  // namespace penstock::blosc

namespace penstock::lz {

template Status decode_cuda(const blosc::Blosclz&, const DeviceBatch&, const Stream&);
template Status decode_cuda(const blosc::Snappy&, const DeviceBatch&, const Stream&);

}  // namespace penstock::lz

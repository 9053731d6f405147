// The CUDA side of codec/elementwise.hpp.
#pragma once
#include "codec/elementwise.hpp"
#include "device/cuda/error.hpp"

namespace penstock::elementwise {

inline constexpr unsigned kThreads = 256;
/// Units that a thread makes: few, so that a batch of one large chunk fills a GPU as well.
inline constexpr unsigned kUnits = 16;

template <class Filter>
__global__ void __launch_bounds__(kThreads)
    filter_kernel(const __grid_constant__ Filter filter, const DecodeTask* tasks, ChunkStatus* results,
                  unsigned blocks_each) {
  const unsigned chunk = blockIdx.x / blocks_each, part = blockIdx.x % blocks_each;
  const DecodeTask task = tasks[chunk];
  const ChunkStatus result = check(filter, task);
  if (part == 0 && threadIdx.x == 0) results[chunk] = result;
  if (result.status != DecodeStatus::ok) return;
  const std::uint64_t units = filter.units(task.out_bytes);
  for (std::uint64_t i = std::uint64_t{part} * kThreads + threadIdx.x; i < units;
       i += std::uint64_t{blocks_each} * kThreads)
    make_unit(filter, task, i);
}

template <class Filter>
Status run_cuda(const Filter& filter, const DeviceBatch& batch, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "filters on CUDA need a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const std::uint64_t most = 0x7FFFFFFF / batch.size.count;  // blocks of a grid
  std::uint64_t each = filter.units(batch.size.largest_bytes) / (kThreads * kUnits) + 1;
  if (each > most) each = most;
  const auto blocks_each = static_cast<unsigned>(each);
  filter_kernel<<<batch.size.count * blocks_each, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(
      filter, batch.tasks, batch.results, blocks_each);
  return cuda_status(cudaGetLastError(), "launching a filter");
}

}  // namespace penstock::elementwise

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
__global__ void __launch_bounds__(kThreads)
    encode_kernel(const __grid_constant__ Filter filter, const __grid_constant__ EncodeBatch batch,
                  unsigned blocks_each) {
  const unsigned chunk = blockIdx.x / blocks_each, part = blockIdx.x % blocks_each;
  const DecodeTask task = encoding_task(batch, chunk);
  const bool ok = check(filter, task).status == DecodeStatus::ok;
  if (part == 0 && threadIdx.x == 0) batch.out_bytes[chunk] = ok ? task.out_bytes : kNotEncoded;
  if (!ok) return;
  const std::uint64_t units = filter.units(task.out_bytes);
  for (std::uint64_t i = std::uint64_t{part} * kThreads + threadIdx.x; i < units;
       i += std::uint64_t{blocks_each} * kThreads)
    make_unit(filter, task, i);
}

/// Blocks for each chunk of a batch.
inline unsigned blocks_for(std::uint64_t units, std::uint32_t count) {
  const std::uint64_t most = 0x7FFFFFFF / count;  // blocks of a grid
  const std::uint64_t each = units / (kThreads * kUnits) + 1;
  return static_cast<unsigned>(each < most ? each : most);
}

template <class Filter>
Status run_cuda(const Filter& filter, const DeviceBatch& batch, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "filters on CUDA need a CUDA stream");
  if (batch.size.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const unsigned each = blocks_for(filter.units(batch.size.largest_bytes), batch.size.count);
  filter_kernel<<<batch.size.count * each, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(
      filter, batch.tasks, batch.results, each);
  return cuda_status(cudaGetLastError(), "launching a filter");
}

template <class Filter>
Status encode_cuda(const Filter& filter, const EncodeBatch& batch, const Stream& stream) {
  if (stream.device().type != Device::Type::cuda)
    return Error(ErrorCode::invalid_argument, "filters on CUDA need a CUDA stream");
  if (batch.count == 0) return {};
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const unsigned each = blocks_for(filter.units(batch.largest_bytes), batch.count);
  encode_kernel<<<batch.count * each, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(filter, batch, each);
  return cuda_status(cudaGetLastError(), "launching a filter");
}

}  // namespace penstock::elementwise

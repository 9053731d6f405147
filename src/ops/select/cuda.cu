#include "device/cuda/launch.cuh"
#include "device/cuda/team.cuh"
#include "ops/dispatch.hpp"
#include "ops/select/select.hpp"
#include "ops/tuning.hpp"

namespace penstock::select {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kSummaryThreads = 256;
/// Teams for each multiprocessor's worth of work: the last ones to finish must not be waited for long.
constexpr std::uint32_t kTeams = 132 * 8;

template <class T, class Table>
__global__ void __launch_bounds__(kThreads)
    count_kernel(const T* in, std::uint64_t n, const __grid_constant__ Table table, std::uint64_t* counts) {
  extern __shared__ std::uint32_t shared[];
  count_tile(CudaBlockTeam<kThreads>{}, in, Share::of(n, blockIdx.x, gridDim.x), table, shared, counts);
}

/// For tables larger than shared memory.
template <class T, class Table>
struct CountElement {
  const T* in;
  Table table;
  std::uint64_t* counts;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint32_t index = table.index(in[i]);
    if (index < table.size()) atomic_add(&counts[index], std::uint64_t{1});
  }
};

template <class T>
__global__ void __launch_bounds__(kSummaryThreads)
    summary_kernel(const T* in, std::uint64_t n, double around, Summary* summaries) {
  __shared__ unsigned char memory[kSummaryThreads * sizeof(Summary)] __attribute__((aligned(16)));
  summary_tile(CudaBlockTeam<kSummaryThreads>{}, in, Share::of(n, blockIdx.x, gridDim.x), around,
               reinterpret_cast<Summary*>(memory), summaries + blockIdx.x);
}

}  // namespace

template <class Table>
Status count_on_cuda(const DType& dtype, const void* elements, std::uint64_t count, const Table& table,
                     std::uint64_t* counts, const Stream& stream) {
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  const std::size_t bytes = table.size() * sizeof(std::uint32_t);
  const auto native = static_cast<cudaStream_t>(stream.native());
  PENSTOCK_TRY(
      cuda_status(cudaMemsetAsync(counts, 0, table.size() * sizeof(std::uint64_t), native), "clearing counts"));
  Status status;
  with_type(dtype, [&]<class T>(TypeTag<T>) {
    const auto* in = static_cast<const T*>(elements);
    // A counter of a team has 32 bits.
    if (bytes > tuning::kSharedBytes || count / kTeams >= UINT32_MAX) {
      static_cast<void>(status = launch_cuda(stream, count, CountElement<T, Table>{in, table, counts}));
      return;
    }
    count_kernel<<<kTeams, kThreads, bytes, native>>>(in, count, table, counts);
    static_cast<void>(status = cuda_status(cudaGetLastError(), "counting elements"));
  });
  return status;
}
template Status count_on_cuda(const DType&, const void*, std::uint64_t, const DigitTable&, std::uint64_t*,
                              const Stream&);
template Status count_on_cuda(const DType&, const void*, std::uint64_t, const BinTable&, std::uint64_t*, const Stream&);

Status summarize_on_cuda(const DType& dtype, const void* elements, std::uint64_t count, double around,
                         Summary* summaries, const Stream& stream) {
  const DeviceGuard guard(stream.device().index);
  PENSTOCK_TRY(guard.status());
  with_type(dtype, [&]<class T>(TypeTag<T>) {
    summary_kernel<<<kSummaries, kSummaryThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(
        static_cast<const T*>(elements), count, around, summaries);
  });
  return cuda_status(cudaGetLastError(), "summing elements up");
}

}  // namespace penstock::select

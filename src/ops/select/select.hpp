// Counting on each processor, on the host's side.
#pragma once
#include "ops/operator.hpp"
#include "ops/select/kernel.hpp"

namespace penstock::select {

/// Digits of the CPU: tables that its second-level cache holds; a pass over a store is dearer than that.
inline constexpr std::uint32_t kHostDigitBits = 16;
/// Digits of a device: tables in the shared memory of a team.
inline constexpr std::uint32_t kDeviceDigitBits = 11;

/// Adds `count` packed elements to `counts` (host memory, table.size() of them).  Complete on return.
template <class Table>
Status count(const TensorView& elements, const Table& table, std::uint64_t* counts, const Workspace& work);
/// Complete on return.
Result<Summary> summarize(const TensorView& elements, double around, const Workspace& work);

/// The same in the memory of a device.  `counts` is of the device; what it held is lost.  Errors: device_error,
/// unsupported.
template <class Table>
Status count_on_cuda(const DType& dtype, const void* elements, std::uint64_t count, const Table& table,
                     std::uint64_t* counts, const Stream& stream);
inline constexpr std::uint32_t kSummaries = 1024;
/// kSummaries of them.
Status summarize_on_cuda(const DType& dtype, const void* elements, std::uint64_t count, double around,
                         Summary* summaries, const Stream& stream);

}  // namespace penstock::select

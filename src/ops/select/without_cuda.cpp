#include "ops/select/select.hpp"

namespace penstock::select {
namespace {

Error none() { return {ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason()}; }

}  // namespace

template <class Table>
Status count_on_cuda(const DType&, const void*, std::uint64_t, const Table&, std::uint64_t*, const Stream&) {
  return none();
}
template Status count_on_cuda(const DType&, const void*, std::uint64_t, const DigitTable&, std::uint64_t*,
                              const Stream&);
template Status count_on_cuda(const DType&, const void*, std::uint64_t, const BinTable&, std::uint64_t*, const Stream&);

Status summarize_on_cuda(const DType&, const void*, std::uint64_t, double, Summary*, const Stream&) { return none(); }

}  // namespace penstock::select

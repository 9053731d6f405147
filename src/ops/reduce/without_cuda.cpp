#include "ops/reduce/reduce.hpp"

namespace penstock::reduce {
namespace {

Error none() { return {ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason()}; }

}  // namespace

Status add_on_cuda(const BoxPass&, const Stream&) { return none(); }
Status fill_on_cuda(void*, std::uint64_t, std::uint64_t, std::uint64_t, const Stream&) { return none(); }
Status finish_on_cuda(const Finish&, std::uint64_t, const Stream&) { return none(); }
Status make_on_cuda(const BoxPass&, const Finish&, const Stream&) { return none(); }

}  // namespace penstock::reduce

#include "ops/element/element.hpp"

namespace penstock::element {

Status cast_on_cuda(const DType&, const void*, const DType&, void*, std::uint64_t, Rounding, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}

template <class C>
Status program_on_cuda(const ProgramJob<C>&, std::uint64_t, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}
template Status program_on_cuda(const ProgramJob<float>&, std::uint64_t, const Stream&);
template Status program_on_cuda(const ProgramJob<double>&, std::uint64_t, const Stream&);

}  // namespace penstock::element

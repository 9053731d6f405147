#include "ops/line/box.hpp"
#include "ops/line/extend.hpp"
#include "ops/line/spline.hpp"
#include "ops/line/types.hpp"

namespace penstock::line {

template <class T, class C>
Status run_on_cuda(const LineJob<T, C>&, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}

#define PENSTOCK_INSTANTIATE(T, C) template Status run_on_cuda(const LineJob<T, C>&, const Stream&);
PENSTOCK_LINE_TYPES(PENSTOCK_INSTANTIATE)

template <class W>
Status extend_on_cuda(const ExtendJob<W>&, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}
template Status extend_on_cuda(const ExtendJob<std::uint8_t>&, const Stream&);
template Status extend_on_cuda(const ExtendJob<std::uint16_t>&, const Stream&);
template Status extend_on_cuda(const ExtendJob<std::uint32_t>&, const Stream&);
template Status extend_on_cuda(const ExtendJob<std::uint64_t>&, const Stream&);

template <class T>
Status run_box_on_cuda(const BoxJob<T>&, bool, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}
#define PENSTOCK_INSTANTIATE_BOX(T) template Status run_box_on_cuda(const BoxJob<T>&, bool, const Stream&);
PENSTOCK_BOX_TYPES(PENSTOCK_INSTANTIATE_BOX)

template <class C>
Status splines_on_cuda(const SplineJob<C>&, const Stream&) {
  return Error(ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason());
}
template Status splines_on_cuda(const SplineJob<float>&, const Stream&);
template Status splines_on_cuda(const SplineJob<double>&, const Stream&);

}  // namespace penstock::line

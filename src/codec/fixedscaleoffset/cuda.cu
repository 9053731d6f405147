#include "codec/elementwise.cuh"
#include "codec/fixedscaleoffset/kernel.hpp"

namespace penstock::elementwise {

template Status run_cuda(const ScaleOffsetFilter<float>&, const DeviceBatch&, const Stream&);
template Status run_cuda(const ScaleOffsetFilter<double>&, const DeviceBatch&, const Stream&);

}  // namespace penstock::elementwise

#include "codec/astype/kernel.hpp"
#include "codec/elementwise.cuh"

namespace penstock::elementwise {

template Status run_cuda(const ConvertFilter&, const DeviceBatch&, const Stream&);

}  // namespace penstock::elementwise

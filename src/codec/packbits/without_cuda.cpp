#include "codec/elementwise_without_cuda.hpp"
#include "codec/packbits/kernel.hpp"

namespace penstock::elementwise {

template Status run_cuda(const UnpackBools&, const DeviceBatch&, const Stream&);
template Status run_cuda(const UnpackFields&, const DeviceBatch&, const Stream&);

}  // namespace penstock::elementwise

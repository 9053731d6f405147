#include "codec/elementwise_without_cuda.hpp"
#include "codec/shuffle/kernel.hpp"

namespace penstock::elementwise {

template Status run_cuda(const shuffle::Unshuffle<0>&, const DeviceBatch&, const Stream&);
template Status run_cuda(const shuffle::Unshuffle<2>&, const DeviceBatch&, const Stream&);
template Status run_cuda(const shuffle::Unshuffle<4>&, const DeviceBatch&, const Stream&);

}  // namespace penstock::elementwise

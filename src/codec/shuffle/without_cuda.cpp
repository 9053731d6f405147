#include "codec/elementwise_without_cuda.hpp"
#include "codec/shuffle/kernel.hpp"

namespace penstock::elementwise {

template Status run_cuda(const shuffle::Unshuffle<0>&, const DeviceBatch&, const Stream&);
template Status run_cuda(const shuffle::Unshuffle<2>&, const DeviceBatch&, const Stream&);
template Status run_cuda(const shuffle::Unshuffle<4>&, const DeviceBatch&, const Stream&);

template Status encode_cuda(const shuffle::Shuffle<0>&, const EncodeBatch&, const Stream&);
template Status encode_cuda(const shuffle::Shuffle<2>&, const EncodeBatch&, const Stream&);
template Status encode_cuda(const shuffle::Shuffle<4>&, const EncodeBatch&, const Stream&);

}  // namespace penstock::elementwise

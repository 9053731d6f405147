#include "codec/lz/without_cuda.hpp"
#include "codec/blosc/blosclz.hpp"
#include "codec/blosc/device.hpp"
#include "codec/blosc/snappy.hpp"

namespace penstock::blosc {
namespace {

Error no_cuda() { return {ErrorCode::unsupported, "blosc on CUDA: " + cuda_unavailable_reason()}; }

}  // namespace

Status open_cuda(const DeviceBatch&, const Workspace&, Inner, const Stream&) { return no_cuda(); }
Status finish_cuda(const DeviceBatch&, const Workspace&, Inner, const Stream&) { return no_cuda(); }

}  // namespace penstock::blosc

namespace penstock::lz {

template Status decode_cuda(const blosc::Blosclz&, const DeviceBatch&, const Stream&);
template Status decode_cuda(const blosc::Snappy&, const DeviceBatch&, const Stream&);

}  // namespace penstock::lz

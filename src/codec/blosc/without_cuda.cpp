#include "codec/blosc/device.hpp"

namespace penstock::blosc {
namespace {

Error no_cuda() { return {ErrorCode::unsupported, "blosc on CUDA: " + cuda_unavailable_reason()}; }

}  // namespace

Status open_cuda(const DeviceBatch&, const Workspace&, Inner, const Stream&) { return no_cuda(); }
Status finish_cuda(const DeviceBatch&, const Workspace&, Inner, const Stream&) { return no_cuda(); }

}  // namespace penstock::blosc

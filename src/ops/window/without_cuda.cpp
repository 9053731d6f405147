#include "ops/window/window.hpp"

namespace penstock::window {
namespace {

Error none() { return {ErrorCode::unsupported, "operators on CUDA: " + cuda_unavailable_reason()}; }

}  // namespace

template <class K>
Status run_on_cuda(const RankJob<K>&, const Stream&) {
  return none();
}
template Status run_on_cuda(const RankJob<std::uint8_t>&, const Stream&);
template Status run_on_cuda(const RankJob<std::uint16_t>&, const Stream&);
template Status run_on_cuda(const RankJob<std::uint32_t>&, const Stream&);
template Status run_on_cuda(const RankJob<std::uint64_t>&, const Stream&);

Status keys_on_cuda(const DType&, const void*, void*, std::uint64_t, bool, const Stream&) { return none(); }

}  // namespace penstock::window

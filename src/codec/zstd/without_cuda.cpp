#include "codec/zstd/passes.hpp"

namespace penstock::zstd {
namespace {

Error no_cuda() { return {ErrorCode::unsupported, "zstd on CUDA: " + cuda_unavailable_reason()}; }

}  // namespace

Status decode_cuda(const Batch&, std::span<std::byte>, const Stream&) { return no_cuda(); }
Status run_pass_cuda(Pass, const Layout&, std::uint32_t, const LaunchShape&, const Stream&) { return no_cuda(); }
Result<std::uint32_t> multiprocessors_cuda(const Stream&) { return no_cuda(); }

}  // namespace penstock::zstd

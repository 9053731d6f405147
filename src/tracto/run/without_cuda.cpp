#include "tracto/run/chunk.hpp"

namespace penstock::tracto {

Result<std::vector<std::unique_ptr<Tracker>>> cuda_trackers(const HostField&, Device, std::size_t) {
  return Error(ErrorCode::unsupported, "tracking on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::tracto

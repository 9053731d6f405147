#include "tracto/run/chunk.hpp"

namespace penstock::tracto {

Result<std::unique_ptr<Tracker>> cuda_tracker(const HostField&, Device) {
  return Error(ErrorCode::unsupported, "tracking on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::tracto

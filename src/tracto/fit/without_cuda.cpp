#include "tracto/fit/fitter.hpp"

namespace penstock::tracto {

Result<std::unique_ptr<Fitter>> cuda_fitter(Device) {
  return Error(ErrorCode::unsupported, "fitting on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::tracto

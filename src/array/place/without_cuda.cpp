#include "array/place/place.hpp"

namespace penstock {

Status place_cuda(std::span<const PlaceItem>, const Stream&) {
  return Error(ErrorCode::unsupported, "placement on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock

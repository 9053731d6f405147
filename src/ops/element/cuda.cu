#include "device/cuda/launch.cuh"
#include "ops/element/element.hpp"

namespace penstock::element {

Status cast_on_cuda(const DType& from, const void* in, const DType& to, void* out, std::uint64_t count,
                    Rounding rounding, const Stream& stream) {
  Status status;
  with_cast(from, in, to, out, rounding,
            [&](const auto& job) { static_cast<void>(status = launch_cuda(stream, count, job)); });
  return status;
}

}  // namespace penstock::element

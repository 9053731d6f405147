#include "array/pyramid/level.hpp"
#include "device/cuda/launch.cuh"

namespace penstock::pyramid {

Status level_on_cuda(Downsample method, const DType& dtype, const LevelShape& shape, const void* fine, void* coarse,
                     std::uint64_t elements, const Stream& stream) {
  Status status;
  with_level(method, dtype, shape, fine, coarse,
             [&](const auto& job) { static_cast<void>(status = launch_cuda(stream, elements, job)); });
  return status;
}

}  // namespace penstock::pyramid

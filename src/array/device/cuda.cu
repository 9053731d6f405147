#include "array/device/fill_check.hpp"
#include "device/cuda/launch.cuh"

namespace penstock {

Status check_fill_cuda(const FillCheck& check, std::uint64_t count, const Stream& stream) {
  return launch_cuda(stream, count * check.vectors(), check);
}

}  // namespace penstock

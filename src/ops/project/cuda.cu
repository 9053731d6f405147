#include "device/cuda/launch.cuh"
#include "ops/project/project.hpp"

namespace penstock {

Status project_max_cuda(const DType& dtype, const ProjectShape& shape, const void* source, void* target, bool first,
                        const Stream& stream) {
  Status status;
  const auto run = [&](const auto& f) {
    // void: in a template nvcc takes the assigned Status for one that is dropped (warning 2810).
    static_cast<void>(status = launch_cuda(stream, shape.elements(), f));
  };
  const bool known = with_project_max(dtype, shape, source, target, first, run);
  if (!known) return Error(ErrorCode::unsupported, "no maximum of elements of type " + dtype.name());
  return status;
}

}  // namespace penstock

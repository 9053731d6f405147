#include "device/cuda/error.hpp"

#include <string>

namespace penstock {

Error cuda_error(cudaError_t code, std::string_view what) {
  (void)cudaGetLastError();
  const ErrorCode kind = code == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory : ErrorCode::device_error;
  return {kind, std::string(what) + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"};
}

DeviceGuard::DeviceGuard(int index) {
  status_ = cuda_status(cudaGetDevice(&before_), "cudaGetDevice");
  if (!status_ || before_ == index) return;
  status_ = cuda_status(cudaSetDevice(index), "cudaSetDevice");
  changed_ = status_.has_value();
}

DeviceGuard::~DeviceGuard() {
  if (changed_) (void)cudaSetDevice(before_);
}

}  // namespace penstock

// CUDA errors as Errors.
#pragma once
#include <cuda_runtime_api.h>

#include <string_view>

#include "penstock/error.hpp"

namespace penstock {

/// out_of_memory or device_error; `what` names the call.  Also clears the error that CUDA keeps for the thread, so that
/// the caller's own error checks do not see ours.
Error cuda_error(cudaError_t code, std::string_view what);

inline Status cuda_status(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) return {};
  return cuda_error(code, what);
}

/// Makes a device current for a scope and puts the caller's back.
class DeviceGuard {
 public:
  explicit DeviceGuard(int index);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  /// Whether the device is current.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  int before_ = -1;
  bool changed_ = false;
  Status status_;
};

}  // namespace penstock

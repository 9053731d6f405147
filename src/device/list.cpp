// Every kind of device that penstock knows, best first.
#include "device/backend.hpp"
#include "device/cpu/backend.hpp"
#ifdef PENSTOCK_HAVE_CUDA
#include "device/cuda/backend.hpp"
#endif

namespace penstock {

Backend* find_backend(Device::Type type) {
  switch (type) {
#ifdef PENSTOCK_HAVE_CUDA
    case Device::Type::cuda: return &cuda_backend();
#else
    case Device::Type::cuda: return nullptr;
#endif
    case Device::Type::cpu: return &cpu_backend();
  }
  return nullptr;
}

}  // namespace penstock

// Loads of elements that nothing writes meanwhile.
#pragma once
#include <type_traits>

#include "device/portable.hpp"

namespace penstock {

/// An element that nothing writes while a job runs.
template <class T>
PENSTOCK_HD T load_unchanging(const T* at) {
#if defined(__CUDA_ARCH__)
  if constexpr (!std::is_same_v<T, bool>) return __ldg(at);
#endif
  return *at;
}

}  // namespace penstock

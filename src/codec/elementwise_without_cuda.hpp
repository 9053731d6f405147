// The other side of codec/elementwise.hpp in a build without CUDA.
#pragma once
#include "codec/elementwise.hpp"

namespace penstock::elementwise {

template <class Filter>
Status run_cuda(const Filter&, const DeviceBatch&, const Stream&) {
  return Error(ErrorCode::unsupported, "filters on CUDA: " + cuda_unavailable_reason());
}

template <class Filter>
Status encode_cuda(const Filter&, const EncodeBatch&, const Stream&) {
  return Error(ErrorCode::unsupported, "filters on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::elementwise

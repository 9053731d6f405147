// The other side of codec/lz/device.hpp in a build without CUDA.
#pragma once
#include "codec/lz/device.hpp"

namespace penstock::lz {

template <class Format>
Status decode_cuda(const Format&, const DeviceBatch&, const Stream&) {
  return Error(ErrorCode::unsupported, std::string(Format::kName) + " on CUDA: " + cuda_unavailable_reason());
}

}  // namespace penstock::lz

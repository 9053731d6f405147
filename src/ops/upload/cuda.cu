#include <cstring>

#include "device/cuda/launch.cuh"
#include "ops/upload/upload.hpp"

namespace penstock {

Status put_on_cuda(void* to, const void* from, std::uint64_t bytes, const Stream& stream) {
  PutWords put;
  put.to = static_cast<std::uint32_t*>(to);
  std::memcpy(put.words, from, bytes);
  return launch_cuda(stream, (bytes + 3) / 4, put);
}

}  // namespace penstock

#include "ops/operator.hpp"

#include <algorithm>
#include <numeric>

#include "ops/upload/upload.hpp"

namespace penstock {

Result<Buffer> Workspace::scratch(std::uint64_t bytes) const {
  return memory->allocate(std::max<std::uint64_t>(bytes, 1), 256, stream);
}

Result<Buffer> Workspace::upload(const void* bytes, std::uint64_t count) const {
  PENSTOCK_ASSIGN(Buffer buffer, scratch(count + 3));
  if (count == 0) return buffer;
  if (on_device() && count <= PutWords::kMostBytes) {
    PENSTOCK_TRY(put_on_cuda(buffer.data(), bytes, count, stream));
    return buffer;
  }
  // From memory that is not pinned the call returns when the bytes have been taken.
  PENSTOCK_TRY(copy_async(buffer.data(), stream.device(), bytes, {}, count, stream));
  return buffer;
}

std::vector<std::size_t> Operator::axes() const {
  std::vector<std::size_t> same(output_.shape.size());
  std::iota(same.begin(), same.end(), std::size_t{0});
  return same;
}

}  // namespace penstock

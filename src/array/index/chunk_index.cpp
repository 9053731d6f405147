#include "array/index/chunk_index.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

std::string ChunkRef::path() const {
  std::string path = holder ? holder->path : "";
  if (!inner) return path;
  if (!path.empty()) path += ": ";
  return path + fmt::format("inner chunk {}", *inner);
}

Shape valid_part(std::span<const std::uint64_t> chunk, const Shape& shape, const Shape& chunk_shape,
                 const std::vector<bool>& cropped) {
  Shape valid = chunk_shape;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (cropped[d]) valid[d] = std::min(chunk_shape[d], shape[d] - chunk[d] * chunk_shape[d]);
  return valid == chunk_shape ? Shape{} : valid;
}

Status locate_chunks(const ChunkIndex& index, const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) {
  for (int tries = 1;; ++tries) {
    PENSTOCK_TRY(index.locate(chunks, fetcher, out));
    bool changed = false;
    for (ChunkRef& ref : out) {
      if (!ref.error || ref.error->code() != ErrorCode::changed) continue;
      changed = true;
      index.forget(*ref.holder);
    }
    if (!changed || tries == kLocateTries) return {};
    for (ChunkRef& ref : out) ref = ChunkRef();
  }
}

}  // namespace penstock

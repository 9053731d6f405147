#include "array/index/chunk_index.hpp"

#include <fmt/format.h>

namespace penstock {

std::string ChunkRef::path() const {
  std::string path = holder ? holder->path : "";
  if (!inner) return path;
  if (!path.empty()) path += ": ";
  return path + fmt::format("inner chunk {}", *inner);
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

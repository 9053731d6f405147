#include "array/index/key_index.hpp"

namespace penstock {

Status KeyIndex::locate(const ChunkIds& chunks, Fetcher& /*fetcher*/, std::span<ChunkRef> out) const {
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::string key = keys_.key(chunks[i]);
    if (!prefix_.empty()) key.insert(0, prefix_ + "/");
    out[i].state = ChunkRef::State::whole_object;
    out[i].holder = std::make_shared<const ChunkHolder>(ChunkHolder{std::move(key), {}, {}});
  }
  return {};
}

}  // namespace penstock

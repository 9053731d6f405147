// A key for each chunk: the object is the chunk.
#pragma once
#include "array/index/chunk_index.hpp"
#include "penstock/dataset.hpp"

namespace penstock {

class KeyIndex final : public ChunkIndex {
 public:
  /// Keys of `keys` below `prefix` ("" = the root of the store).
  KeyIndex(std::string prefix, KeyEncoding keys) : prefix_(std::move(prefix)), keys_(keys) {}
  Status locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const override;

 private:
  std::string prefix_;
  KeyEncoding keys_;
};

}  // namespace penstock

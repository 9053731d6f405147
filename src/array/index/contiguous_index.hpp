// A raw volume in one object: its chunks are slabs of it, so that it is read in parts.
#pragma once
#include "array/index/chunk_index.hpp"
#include "penstock/dataset.hpp"

namespace penstock {

class ContiguousIndex final : public ChunkIndex {
 public:
  /// `shape`, `item_bytes`: of the array.  `chunk_shape`: of slabs that are contiguous: from the slowest dimension on
  /// 1, then any, then whole.  Errors: invalid_argument (other chunks), out_of_range (the volume ends beyond 64 bits).
  static Result<std::unique_ptr<ContiguousIndex>> make(const ContiguousChunks& volume, Shape shape, Shape chunk_shape,
                                                       std::uint64_t item_bytes);
  Status locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const override;
  [[nodiscard]] bool crops(std::size_t /*dimension*/) const override { return true; }

 private:
  ContiguousIndex() = default;
  std::uint64_t offset_bytes_ = 0, item_bytes_ = 1;
  Shape shape_, chunk_shape_;
  std::vector<std::uint64_t> strides_;  // bytes
  std::shared_ptr<const ChunkHolder> holder_;
};

}  // namespace penstock

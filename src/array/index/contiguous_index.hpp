// A raw volume in one object: its chunks are slabs of it, so that it is read in parts.
#pragma once
#include "array/index/chunk_index.hpp"
#include "penstock/dataset.hpp"

namespace penstock {

/// Elements one behind another from a byte of an object on.
struct ContiguousVolume {
  using Fastest = ContiguousChunks::Fastest;
  std::string key;
  std::uint64_t offset_bytes = 0;
  Shape shape;
  std::uint64_t item_bytes = 1;
  Fastest fastest = Fastest::last;
};

class ContiguousIndex final : public ChunkIndex {
 public:
  /// `chunk_shape`: of slabs that are contiguous: from the slowest dimension on 1, then any, then whole.
  /// Errors: invalid_argument (other chunks), out_of_range (the volume ends beyond 64 bits).
  static Result<std::unique_ptr<ContiguousIndex>> make(ContiguousVolume volume, Shape chunk_shape);
  /// The largest slabs of at most `max_bytes`, at least one element.
  static Shape slab_shape(const ContiguousVolume& volume, std::uint64_t max_bytes);
  Status locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const override;

 private:
  ContiguousIndex(ContiguousVolume volume, Shape chunk_shape)
      : volume_(std::move(volume)), chunk_shape_(std::move(chunk_shape)) {}
  ContiguousVolume volume_;
  Shape chunk_shape_;
  Strides strides_;
  std::shared_ptr<const ChunkHolder> holder_;
};

}  // namespace penstock

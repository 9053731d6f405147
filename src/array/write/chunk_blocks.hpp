// A whole chunk on its way from the caller's memory to an encoder that takes it piece by piece.
#pragma once
#include <span>

#include "codec/codec.hpp"
#include "exec/job.hpp"

namespace penstock {

/// Gathers each piece when it is asked for: it is in the cache when it is encoded, and the chunk as a whole is nowhere.
/// Pieces begin and end with an element.
class ChunkPieces final : public PieceSource {
 public:
  /// The chunk of `shape` (rank 1 or more) begins at `from`, `strides` bytes between neighbours.  Pieces are gathered
  /// in `worker.decoded`, unless all of the chunk lies there as the encoder wants it: `whole`, else empty.
  ChunkPieces(Worker& worker, const Shape& shape, std::span<const std::int64_t> strides, std::size_t item_bytes,
              const std::byte* from, ByteView whole);
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] Result<ByteView> piece(std::uint64_t first, std::uint64_t count) override;

 private:
  [[nodiscard]] Status gather(std::uint64_t first, std::uint64_t end, std::byte* to) const;
  [[nodiscard]] Status copy_box(std::uint64_t first, std::size_t axis, std::uint64_t count, std::byte* to) const;

  Worker& worker_;
  const Shape& shape_;
  std::span<const std::int64_t> strides_;
  std::size_t item_;
  const std::byte* from_;
  ByteView whole_;
  std::uint64_t size_;
  std::uint64_t gathered_first_ = 0, gathered_count_ = 0;  ///< bytes in worker.decoded now
};

}  // namespace penstock

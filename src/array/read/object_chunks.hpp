// The chunks of one object that a read wants, located.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "array/plan/bound_region.hpp"

namespace penstock {

/// The `object`-th object that a region touches.
struct Part {
  const BoundRegion* region;
  std::uint64_t object;
};

/// Chunk by chunk, with all that regions want of each.  A chunk that several want is there once.
class ObjectChunks {
 public:
  struct Chunk {
    ChunkRef ref;
    std::size_t first_use, last_use;
    const CodecChain* chain;  ///< of the region, but for chunks that end where the array does
  };
  /// Chunks [first, last) that one request brings: one, or several that lie close together; or that need none.
  struct Run {
    std::size_t first, last;
  };
  /// `parts` are of the same object of the same array: the parts of a shard, or those of chunks of a table, chunk after
  /// chunk.
  static Result<ObjectChunks> make(std::span<const Part> parts);

  /// The chunks' coordinates in the grid of the index, in the order of chunks().
  void add_ids(ChunkIds& ids) const;
  /// Takes the places that the index gave for them, and puts the chunks into the order of their bytes.  What has a size
  /// that no chunk can have is not asked for.
  void take_places(std::span<ChunkRef> refs, std::uint64_t gap_bytes, std::uint64_t max_bytes);

  [[nodiscard]] const BoundRegion& region() const { return *destinations_.front().region; }
  [[nodiscard]] std::span<const Chunk> chunks() const { return chunks_; }
  [[nodiscard]] std::span<const Run> runs() const { return runs_; }
  /// The `i`-th use, of this chunk; `slices` holds what it points to.
  [[nodiscard]] ChunkUse use(const Chunk& chunk, std::size_t i, ChunkSliceArray& slices) const;
  /// Chunks [first, last) of it as an object of their own, not located.
  [[nodiscard]] ObjectChunks part(std::size_t first, std::size_t last) const;
  /// How often these chunks were located before.
  int tries = 0;

 private:
  /// What a region wants of the object.
  struct Destination {
    const BoundRegion* region;
    std::vector<ChunkSlice> slices;
    std::byte* out;
    GridPartition inner;  // cut along the chunks of the shard
  };
  /// One destination wants something of one chunk.
  struct Use {
    std::uint64_t linear;  // of the chunk, in the object; of chunks that are not of a shard, in the order of parts
    std::uint64_t cut;     // of the destination's cut
    std::uint32_t destination;
  };
  Status check_place(Chunk& chunk) const;
  void find_runs(std::uint64_t gap_bytes, std::uint64_t max_bytes);

  bool sharded_ = false;
  Shape grid_;  // innermost chunks of the object
  std::vector<Destination> destinations_;
  std::vector<Use> uses_;
  std::vector<Chunk> chunks_;
  std::vector<Run> runs_;
};

}  // namespace penstock

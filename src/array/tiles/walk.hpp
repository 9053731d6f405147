// The walk over an array larger than memory: tile after tile of an output, each made of a box of the source.
//
// While tile i is worked on, what tile i + 1 needs is read and tile i - 1 is written.  What two neighbours both need (a
// halo) is kept in memory; along the walk whole chunks of the source are read, so that none is decoded twice.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "array/blocks.hpp"
#include "penstock/array.hpp"

namespace penstock {

/// What a walk works on.
struct TileWork {
  std::string_view what;             ///< "copy", "gaussian_filter": names the operation in errors and progress
  DType in_dtype;                    ///< of the boxes that are read
  Shape source_shape;                ///< bounds of those boxes
  Shape source_chunks;               ///< what is decoded at once
  DType out_dtype;                   ///< of the tiles that are made
  Shape out_shape;                   ///< of the whole output
  Shape out_objects;                 ///< tiles are whole ones of these
  std::uint64_t min_read_bytes = 0;  ///< the least budget that reading works with (`min_read_bytes`)
  std::uint64_t most_bytes = ~std::uint64_t{0};  ///< held at most, though the budget be larger
  bool decodes = true;                           ///< the source is stored; false: it lies in memory
  bool writes = true;                            ///< tiles are written
  bool makes = true;  ///< false: a tile is the box that was read (copies), or nothing is made of it (sums)
  /// Box of the source that a tile is made of.
  std::function<Region(const Region& tile)> needs;
  /// Working memory of making it, beyond both boxes.
  std::function<std::uint64_t(const Region& tile)> scratch_bytes;
};

/// The least budget that a read of boxes of the array to `device` works with.  Errors: those of Array::plan.
Result<std::uint64_t> min_read_bytes(const Array& array, Device device, const Options& options);

/// How a walk goes.
struct TilePlan {
  BlockWalk tiles;
  std::optional<std::size_t> along;  ///< the dimension in which neighbours follow each other; none: one tile
  bool whole_chunks = false;         ///< along it, whole chunks of the source are read
  std::uint64_t in_bytes = 0;        ///< the largest box that is read
  std::uint64_t out_bytes = 0;       ///< the largest tile
  std::uint64_t scratch_bytes = 0;
  std::uint64_t held_bytes = 0;    ///< at most, by the walk: two boxes, two tiles, the scratch memory
  std::uint64_t budget_bytes = 0;  ///< of all
  std::uint64_t read_bytes = 0;    ///< in all
  std::uint64_t twice_bytes = 0;   ///< of them, of elements that were read before

  /// The largest tiles that fit into half of the budget, and leave what reading and writing need.  Errors:
  /// budget_too_small (how much one tile needs).
  static Result<TilePlan> make(const TileWork& work, const Options& options);
  /// What is read for tile number i, and which part of it is there from the one before it.
  struct Box {
    Region whole, fresh;
  };
  [[nodiscard]] Box box(const TileWork& work, std::uint64_t i) const;
  /// For people.
  [[nodiscard]] std::string text(const TileWork& work) const;
};

/// Memory of one box, and what keeps its elements of variable length.
struct TileMemory {
  TensorView view;
  Arena* arena = nullptr;
};

/// The three things that are done with a tile.  Each is called by one thread at a time, in the order of the tiles.
struct TileSteps {
  /// Brings a region of the source into memory; complete on return.
  std::function<Result<Report>(const Region& region, const TileMemory& into, const Options& options)> read;
  /// Makes tile number i; complete on return.  Not set: there is nothing to make.
  std::function<Status(std::uint64_t i, const Region& in_box, const TensorView& in, const Region& tile,
                       const TensorView& out)>
      make;
  /// Takes the tile (of `in` where the work makes none) away; may be unset.
  std::function<Result<Report>(const Region& tile, const TensorView& out, const Options& options)> write;
  /// Whether a tile is left out, because it is there already; may be unset.
  std::function<Result<bool>(const Region& tile)> skip;
};

/// The part of a box in memory.
Result<TensorView> part_of_box(const TensorView& whole, const Region& box, const Region& part);

/// Runs the steps over all tiles, with boxes in memory of `device`.  With one thread, or where the system gives no
/// more, one after the other.  Errors: those of the steps, cancelled, timed_out, out_of_memory.
Result<Report> walk_tiles(const TileWork& work, const TilePlan& plan, const TileSteps& steps, Device device,
                          const Options& options);

}  // namespace penstock

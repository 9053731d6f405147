// Volumes box by box on the device where a step works: while one is worked on, the next is read and the one before it
// is written.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "array/tiles/walk.hpp"
#include "oct/file/volume.hpp"
#include "oct/walk/box.hpp"
#include "oct/work.hpp"

namespace penstock::oct {

/// What is read.
struct Source {
  Shape shape, chunks;
  std::uint64_t min_read_bytes = 0;  ///< the least budget that reading works with
  std::function<Result<Report>(const Region& region, const TensorView& into, const Options& options)> read;
};
/// `path`: stands in errors.
Result<Source> source_of(const Volume& volume, const std::string& path, Device device, const Options& options);

/// One pass over a source.
struct Pass {
  std::string_view what;  ///< "oct stitch"
  Shape shape, objects;   ///< of what is made (looked at): tiles are whole objects of it
  /// The box of the source that a tile is made of; not set: the same.
  std::function<Region(const Region& tile)> needs = {};
  /// Working memory of making a tile; not set: none.
  std::function<std::uint64_t(const Region& tile)> scratch_bytes = {};
  /// Makes a tile of exactly the box that it needs, in the order of the stream.  `out.view` is packed; a pass that only
  /// looks has no memory there.
  std::function<Status(const Tile& in, const Tile& out, const Workspace& work)> make = {};
};

/// Looks at all tiles, in their order.
Status look_at(const Source& source, const Pass& pass, Device device, const Options& options);
/// Makes and writes all tiles; what lies beyond `pass.shape` in `to` stays 0.  `path`: stands in errors of writing.
Status make_volume(const Source& source, const Pass& pass, NewVolume& to, const std::string& path, Device device,
                   const Options& options);

/// `options` with less of a budget, because of what a step holds beside a pass.  Errors: budget_too_small.
Result<Options> without_held(const Options& options, std::uint64_t held_bytes, std::string_view what);

/// The view itself where it is packed, else a copy in `held`.
Result<TensorView> packed_here(const TensorView& view, Tensor& held, const Workspace& work);

/// Three dimensions of float32, the last without gaps, as kernels see them.
ConstBox const_box(const TensorView& view);
Box mutable_box(const TensorView& view);

}  // namespace penstock::oct

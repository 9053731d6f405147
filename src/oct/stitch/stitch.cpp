#include "oct/stitch/stitch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "oct/stitch/kernel.hpp"
#include "oct/tiles/kernel.hpp"
#include "oct/transform/tile_transform.hpp"
#include "oct/walk/walk.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;

/// Tiles laid on parts of a slice, in their order: they come from boxes of whole tiles.
struct Stitcher {
  const TileGrid& grid;
  const TileLayout& layout;
  std::uint64_t depth;
  bool replaces;  ///< later tiles cover earlier ones; else the mean of all that lie there

  [[nodiscard]] bool reaches(std::uint64_t k, const Region& part) const {
    return layout.rows[k] < part[1].start + part[1].count && layout.rows[k] + grid.tile_rows > part[1].start &&
           layout.cols[k] < part[2].start + part[2].count && layout.cols[k] + grid.tile_cols > part[2].start;
  }
  /// The least box of tiles that holds all that reach the part; one tile where none does.
  [[nodiscard]] Region needs(const Region& part) const {
    std::uint64_t top = grid.rows, left = grid.cols, bottom = 0, right = 0;
    for (std::uint64_t k = 0; k < grid.count(); ++k) {
      if (!reaches(k, part)) continue;
      const std::uint64_t i = k / grid.cols, j = k % grid.cols;
      top = std::min(top, i), left = std::min(left, j);
      bottom = std::max(bottom, i + 1), right = std::max(right, j + 1);
    }
    if (bottom == 0) top = left = 0, bottom = right = 1;
    return {{0, depth, 1},
            {top * grid.tile_rows, (bottom - top) * grid.tile_rows, 1},
            {left * grid.tile_cols, (right - left) * grid.tile_cols, 1}};
  }
  [[nodiscard]] std::uint64_t scratch_bytes(const Region& part) const {
    return 4 * part[1].count * part[2].count + grid.tile_rows * (grid.tile_cols + 1) + 1;
  }

  Status make(const Tile& in, const Tile& out, const Workspace& work) const {
    const Box part = mutable_box(out.view);
    const std::uint64_t columns = grid.tile_rows * grid.tile_cols;
    PENSTOCK_ASSIGN(const Numbers<float> covers, Numbers<float>::make(part.columns(), work));
    PENSTOCK_ASSIGN(const Numbers<std::uint8_t> holds, Numbers<std::uint8_t>::make(columns + grid.tile_rows + 1, work));
    std::uint8_t *const of_rows = holds.at() + columns, *const any = of_rows + grid.tile_rows;
    PENSTOCK_TRY(run_work(tiles::Fill{part.data, 0}, part.elements(), work));
    PENSTOCK_TRY(run_work(tiles::Fill{covers.at(), 0}, part.columns(), work));
    for (std::uint64_t k = 0; k < grid.count(); ++k) {
      if (!reaches(k, out.box)) continue;
      const Region at = {{0, depth, 1},
                         {k / grid.cols * grid.tile_rows, grid.tile_rows, 1},
                         {k % grid.cols * grid.tile_cols, grid.tile_cols, 1}};
      PENSTOCK_ASSIGN(const TensorView view, part_of_box(in.view, in.box, at));
      const ConstBox tile = const_box(view);
      // A tile that is not there covers nothing.
      PENSTOCK_TRY(run_work(stitch::ColumnHolds{tile, holds.at()}, columns, work, 64));
      PENSTOCK_TRY(run_work(stitch::AnyOf{holds.at(), grid.tile_cols, of_rows}, grid.tile_rows, work));
      PENSTOCK_TRY(run_work(stitch::AnyOf{of_rows, grid.tile_rows, any}, 1, work));
      const stitch::LayTile lay{tile,
                                any,
                                part,
                                static_cast<std::int64_t>(layout.rows[k]) - static_cast<std::int64_t>(out.box[1].start),
                                static_cast<std::int64_t>(layout.cols[k]) - static_cast<std::int64_t>(out.box[2].start),
                                covers.at(),
                                replaces};
      PENSTOCK_TRY(run_work(lay, tile.elements(), work));
    }
    if (replaces) return {};
    return run_work(stitch::DivideByCovers{part.data, covers.at(), part.columns()}, part.elements(), work);
  }
};

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume mosaic, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(mosaic, call.path(0)));
  PENSTOCK_ASSIGN(const TileTransform transform, read_transform(call.text("transform")));
  PENSTOCK_ASSIGN_IN(const TileLayout layout,
                     layout_of(transform, grid.rows, grid.cols, grid.tile_rows, grid.tile_cols),
                     call.text("transform"));
  VolumeSpec spec;
  spec.shape = {mosaic.shape[0], layout.height, layout.width};
  spec.chunks = {kChunk, kChunk, kChunk};
  spec.spacing_mm = mosaic.spacing_mm;
  spec.levels = call.count("n_levels");
  // The slice as a whole stays where it is, wherever its tiles make the image begin and were rounded to.
  spec.offset_mm = {0, layout.top * spec.spacing_mm[1], layout.left * spec.spacing_mm[2]};
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  const Stitcher stitcher{grid, layout, mosaic.shape[0], call.text("blending") == "none"};
  // Parts at full depth, as tiles are: whether a tile holds anything is the same for all planes.
  Pass pass{"oct stitch", spec.shape, {spec.shape[0], kChunk, kChunk}};
  pass.needs = [&](const Region& part) { return stitcher.needs(part); };
  pass.scratch_bytes = [&](const Region& part) { return stitcher.scratch_bytes(part); };
  pass.make = [&](const Tile& in, const Tile& part, const Workspace& work) { return stitcher.make(in, part, work); };
  PENSTOCK_ASSIGN(const Source source, source_of(mosaic, call.path(0), call.device, call.options));
  PENSTOCK_TRY(make_volume(source, pass, out, call.path(1), call.device, call.options));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  done.metrics.ran("tiles laid", call.device.name());
  done.metrics.add("rows", layout.height, "pixels", "rows of the slice");
  done.metrics.add("columns", layout.width, "pixels", "columns of the slice");
  done.text = fmt::format("{}: {} x {} x {} of {} tiles\n", call.path(1), spec.shape[0], layout.height, layout.width,
                          grid.count());
  return done;
}

}  // namespace

Step stitch_step() {
  Step step;
  step.what.name = "stitch";
  step.what.summary = "tiles of a mosaic grid to one slice";
  step.what.about =
      "Tiles lie at the nearest whole pixel of their position; where several lie, the slice is their mean. Tiles of "
      "nothing but 0 are left out.";
  step.what.arguments = {{"MOSAIC", "mosaic grid", false}, {"SLICE", "the slice to write, NAME.ome.zarr", true}};
  step.what.options = {
      path_option("transform", "the matrix of `oct estimate-transform`, NAME.npy"),
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
      choice_option("blending", {"average", "none"}, "average, or none: later tiles cover earlier ones"),
  };
  step.what.example =
      "mosaic_grid_z00_illum.ome.zarr slice_z00_stitch.ome.zarr --transform mosaic_grid_z00_transform.npy";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

#include "oct/stitch/stitch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/checked.hpp"
#include "exec/budget.hpp"
#include "oct/file/volume.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;

/// How tiles are put over each other.
enum class Blending : std::uint8_t {
  none,     ///< the later one, row by row of the grid, covers the earlier
  average,  ///< the mean of all that lie there; their order does not count
};

/// Some planes of the slice while tiles are laid on them.
struct Canvas {
  std::uint64_t planes, height, width;
  std::vector<float> values;
  std::vector<std::uint8_t> covers;  ///< tiles that lie at a column

  Canvas(std::uint64_t planes_, std::uint64_t height_, std::uint64_t width_)
      : planes(planes_), height(height_), width(width_), values(planes * height * width), covers(height * width) {}

  void lay(std::span<const float> tile, std::uint64_t rows, std::uint64_t cols, std::uint64_t row, std::uint64_t col,
           Blending blending) {
    for (std::uint64_t z = 0; z < planes; ++z)
      for (std::uint64_t r = 0; r < rows; ++r) {
        float* const to = values.data() + (z * height + row + r) * width + col;
        const float* const from = tile.data() + (z * rows + r) * cols;
        if (blending == Blending::none)
          std::copy_n(from, cols, to);
        else
          for (std::uint64_t c = 0; c < cols; ++c) to[c] += from[c];
      }
    for (std::uint64_t r = 0; r < rows; ++r)
      for (std::uint64_t c = 0; c < cols; ++c) {
        std::uint8_t& n = covers[(row + r) * width + col + c];
        if (n < 255) ++n;
      }
  }
  void average() {
    for (std::uint64_t z = 0; z < planes; ++z)
      for (std::uint64_t i = 0; i < covers.size(); ++i)
        if (covers[i] > 1) values[z * covers.size() + i] /= static_cast<float>(covers[i]);
  }
};

/// The planes [first, first + count) of the slice.
Result<Canvas> lay_planes(const Volume& mosaic, const TileGrid& grid, const TileLayout& layout, Blending blending,
                          std::uint64_t first, std::uint64_t count, const Options& options) {
  Canvas canvas(count, layout.height, layout.width);
  for (std::uint64_t k = 0; k < grid.count(); ++k) {
    const Region region = {{first, count, 1},
                           {k / grid.cols * grid.tile_rows, grid.tile_rows, 1},
                           {k % grid.cols * grid.tile_cols, grid.tile_cols, 1}};
    PENSTOCK_ASSIGN(const Block tile, read_block(mosaic.array, region, options));
    // A tile that is not there covers nothing.
    if (std::ranges::all_of(tile.values, [](float v) { return v == 0; })) continue;
    canvas.lay(tile.values, grid.tile_rows, grid.tile_cols, layout.rows[k], layout.cols[k], blending);
  }
  if (blending == Blending::average) canvas.average();
  return canvas;
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume mosaic, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(mosaic, call.path(0)));
  PENSTOCK_ASSIGN(const TileTransform transform, read_transform(call.text("transform")));
  PENSTOCK_ASSIGN_IN(const TileLayout layout,
                     layout_of(transform, grid.rows, grid.cols, grid.tile_rows, grid.tile_cols),
                     call.text("transform"));
  const Blending blending = call.text("blending") == "none" ? Blending::none : Blending::average;
  VolumeSpec spec;
  spec.shape = {mosaic.shape[0], layout.height, layout.width};
  spec.chunks = {kChunk, kChunk, kChunk};
  spec.spacing_mm = mosaic.spacing_mm;
  // Tile (0, 0) stays where it is, wherever the others make the image begin.
  spec.offset_mm = {0, static_cast<double>(layout.top) * spec.spacing_mm[1],
                    static_cast<double>(layout.left) * spec.spacing_mm[2]};
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  // Whole chunks of planes if they fit: a tile is decoded for each piece of its depth.
  const std::uint64_t plane_bytes =
      saturating_mul(4 * layout.height, layout.width) + 8 * grid.tile_rows * grid.tile_cols;
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(call.options, 2 * plane_bytes));
  const std::uint64_t fit = std::max<std::uint64_t>(plan.budget_bytes / 2 / plane_bytes, 1);
  const std::uint64_t planes = std::min(fit, kChunk);
  for (std::uint64_t first = 0; first < spec.shape[0]; first += planes) {
    PENSTOCK_TRY(call.options.stop().check("oct stitch"));
    const std::uint64_t count = std::min(planes, spec.shape[0] - first);
    PENSTOCK_ASSIGN_IN(const Canvas canvas, lay_planes(mosaic, grid, layout, blending, first, count, call.options),
                       call.path(0));
    const Region region = {{first, count, 1}, {0, layout.height, 1}, {0, layout.width, 1}};
    PENSTOCK_TRY_IN(write_block(out.array(), region, canvas.values, call.options), call.path(1));
  }
  PENSTOCK_TRY(out.finish(call.device, call.options));
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
      "nothing "
      "but 0 are left out.";
  step.what.arguments = {{"MOSAIC", "mosaic grid", false}, {"SLICE", "the slice to write, NAME.ome.zarr", true}};
  step.what.options = {
      path_option("transform", "the matrix of `oct estimate-transform`, NAME.npy"),
      choice_option("blending", {"average", "none"}, "average, or none: later tiles cover earlier ones"),
  };
  step.what.example =
      "mosaic_grid_z00_illum.ome.zarr slice_z00_stitch.ome.zarr --transform mosaic_grid_z00_transform.npy";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

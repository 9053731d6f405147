#include "oct/stitch/stitch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/checked.hpp"
#include "exec/budget.hpp"
#include "oct/file/volume.hpp"
#include "oct/stitch/kernel.hpp"
#include "oct/tiles/columns.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;

/// How tiles are put over each other.
enum class Blending : std::uint8_t {
  none,     ///< the later one, row by row of the grid, covers the earlier
  average,  ///< the mean of all that lie there; their order does not count
};

/// Some planes of the slice while tiles are laid on them, where they are laid.
class Canvas {
 public:
  static Result<Canvas> make(std::uint64_t planes, const TileLayout& layout, const Tools& tools) {
    Canvas made;
    made.pixels_ = layout.height * layout.width;
    made.width_ = layout.width;
    PENSTOCK_ASSIGN(made.values_, Tensor::empty(DType::float32(), {planes, layout.height, layout.width},
                                                tools.work.stream, tools.options.memory));
    PENSTOCK_ASSIGN(made.covers_, Numbers<std::uint8_t>::make(std::vector<std::uint8_t>(made.pixels_), tools.work));
    PENSTOCK_TRY(run_work(tiles::Fill{made.data(), 0}, planes * made.pixels_, tools.work));
    return made;
  }
  [[nodiscard]] const TensorView& view() const { return values_.view(); }
  Status lay(const Tensor& tile, std::uint64_t row, std::uint64_t col, Blending blending, const Tools& tools) {
    const Shape& shape = tile.view().shape;
    const std::uint64_t at = row * width_ + col;
    return run_lanes(stitch::LayTile{static_cast<const float*>(tile.view().data), shape[0], shape[1], shape[2],
                                     data() + at, covers_.at() + at, width_, pixels_, blending == Blending::average},
                     tools.work, kShortTask);
  }
  Status average(const Tools& tools) {
    return run_lanes(stitch::Average{data(), covers_.at(), view().shape[0], pixels_}, tools.work, kShortTask);
  }

 private:
  [[nodiscard]] float* data() const { return static_cast<float*>(values_.view().data); }
  Tensor values_;
  Numbers<std::uint8_t> covers_;  // tiles that lie at a column
  std::uint64_t pixels_ = 0, width_ = 0;
};

/// A mosaic grid, and where its tiles lie.
struct Laying {
  const Volume& mosaic;
  const TileGrid& grid;
  const TileLayout& layout;
  Blending blending;
  std::uint64_t at_once;  ///< tiles that are read at once
};

/// The planes [first, first + count) of the slice.
Result<Canvas> lay_planes(const Laying& in, std::uint64_t first, std::uint64_t count, const Tools& tools) {
  const TileGrid& grid = in.grid;
  PENSTOCK_ASSIGN(Canvas canvas, Canvas::make(count, in.layout, tools));
  Options one = tools.options;
  one.threads = 1;
  one.progress = nullptr;
  std::vector<Tensor> read(in.at_once);
  for (std::uint64_t k = 0; k < grid.count(); k += in.at_once) {
    const std::uint64_t now = std::min(in.at_once, grid.count() - k);
    const auto read_one = [&](std::uint64_t i) -> Status {
      const Region region = {{first, count, 1},
                             {(k + i) / grid.cols * grid.tile_rows, grid.tile_rows, 1},
                             {(k + i) % grid.cols * grid.tile_cols, grid.tile_cols, 1}};
      PENSTOCK_ASSIGN(read[i], in.mosaic.array.read(region, one, tools.work.stream));
      return {};
    };
    PENSTOCK_TRY(tools.work.job->for_each(now, true, read_one));
    for (std::uint64_t i = 0; i < now; ++i) {
      PENSTOCK_ASSIGN(const ColumnStatistics columns, column_statistics(read[i], tools));
      if (columns.empty()) continue;  // a tile that is not there covers nothing
      PENSTOCK_TRY(canvas.lay(read[i], in.layout.rows[k + i], in.layout.cols[k + i], in.blending, tools));
    }
  }
  if (in.blending == Blending::average) PENSTOCK_TRY(canvas.average(tools));
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
  const std::uint64_t tile_bytes = 4 * grid.tile_rows * grid.tile_cols;  // of a plane
  const std::uint64_t plane_bytes = saturating_mul(4 * layout.height, layout.width) + 2 * tile_bytes;
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(call.options, 2 * plane_bytes));
  const std::uint64_t fit = std::max<std::uint64_t>(plan.budget_bytes / 2 / plane_bytes, 1);
  const std::uint64_t planes = std::min({fit, kChunk, spec.shape[0]});
  const std::uint64_t at_once = std::clamp<std::uint64_t>(
      plan.budget_bytes / 4 / saturating_mul(2 * mosaic.shape[0], tile_bytes), 1, plan.threads);
  const Laying in{mosaic, grid, layout, blending, at_once};
  const auto all_planes = [&](const Tools& tools) -> Status {
    for (std::uint64_t first = 0; first < spec.shape[0]; first += planes) {
      PENSTOCK_TRY(call.options.stop().check("oct stitch"));
      const std::uint64_t count = std::min(planes, spec.shape[0] - first);
      PENSTOCK_ASSIGN_IN(const Canvas canvas, lay_planes(in, first, count, tools), call.path(0));
      const Region region = {{first, count, 1}, {0, layout.height, 1}, {0, layout.width, 1}};
      PENSTOCK_TRY_IN(out.array().write(region, canvas.view(), call.options), call.path(1));
    }
    return {};
  };
  PENSTOCK_TRY(with_tools(call.device, "oct stitch", call.options, all_planes));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  done.metrics.add("rows", layout.height, "pixels", "rows of the slice");
  done.metrics.add("columns", layout.width, "pixels", "columns of the slice");
  done.metrics.note("device", call.device.name(), "where tiles were laid");
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

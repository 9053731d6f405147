#include "oct/transform/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "oct/transform/pairs.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {
namespace {

constexpr double kOutlier = 2;  // pixels from the median; what is farther away does not count

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The mean step along one axis of the grid, weighted by how well the overlaps fit, of those near the median.
struct MeanStep {
  double row = 0, col = 0;
  std::uint64_t used = 0;
};
MeanStep mean_step(const Pairs& pairs, bool down) {
  std::vector<double> rows, cols;
  for (const Pair& p : pairs.found)
    if (p.down == down) rows.push_back(p.offset.row), cols.push_back(p.offset.col);
  MeanStep mean;
  if (rows.empty()) return mean;
  const double row = median_of(rows), col = median_of(cols);
  double weights = 0;
  for (const Pair& p : pairs.found) {
    if (p.down != down || std::hypot(p.offset.row - row, p.offset.col - col) > kOutlier) continue;
    const double w = p.offset.score * p.offset.score;
    mean.row += w * p.offset.row, mean.col += w * p.offset.col, weights += w;
    ++mean.used;
  }
  mean.row /= weights, mean.col /= weights;
  return mean;
}

Result<PairOptions> pair_options(const StepCall& call) {
  const PairOptions how{call.number("initial_overlap"), call.number("max_empty_fraction")};
  // Percents would leave steps backwards, or every overlap counting.
  if (!(how.overlap > 0) || !(how.overlap < 1))
    return Error(ErrorCode::invalid_argument,
                 fmt::format("initial_overlap {}: a part of a tile, between 0 and 1", how.overlap));
  if (!(how.max_empty_fraction >= 0) || !(how.max_empty_fraction <= 1))
    return Error(ErrorCode::invalid_argument,
                 fmt::format("max_empty_fraction {}: a part of an overlap, from 0 to 1", how.max_empty_fraction));
  return how;
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  if (!call.path(1).ends_with(".npy"))
    return Error(ErrorCode::invalid_argument, call.path(1) + ": the name must end in .npy");
  PENSTOCK_ASSIGN(const bool there, small_exists(call.path(1)));
  if (there && !call.force)
    return Error(ErrorCode::already_exists, call.path(1) + ": already exists").set_hint("--force replaces it.");
  PENSTOCK_ASSIGN(const Volume projection, open_volume(call.path(0), 2));
  PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(projection, call.path(0)));
  PENSTOCK_ASSIGN_IN(Block block, read_block(projection.array, whole(projection.shape), call.options), call.path(0));
  const Image aip{projection.shape[0], projection.shape[1], std::move(block.values)};
  PENSTOCK_ASSIGN(const PairOptions how, pair_options(call));
  Pairs pairs;
  if (!call.flag("use_motor_positions")) {
    PENSTOCK_ASSIGN_IN(pairs, find_pairs(aip, grid, how, call.options, call.device), call.path(0));
    done.metrics.ran("overlaps compared", call.device.name());
  }
  TileTransform transform;
  std::uint64_t used[2] = {};
  for (const bool down : {true, false}) {
    MeanStep step = mean_step(pairs, down);
    const std::uint64_t tiles = down ? grid.rows : grid.cols;
    if (step.used == 0) {
      (down ? step.row : step.col) = static_cast<double>(down ? grid.tile_rows : grid.tile_cols) * (1 - how.overlap);
      if (tiles > 1 && !call.flag("use_motor_positions"))
        done.metrics.warn(fmt::format("no overlap along {} says where tiles lie; the step is that of initial_overlap",
                                      down ? "rows" : "columns"));
    }
    transform.m[down ? 0 : 1] = step.row;
    transform.m[down ? 2 : 3] = step.col;
    used[down ? 0 : 1] = step.used;
  }
  PENSTOCK_TRY(write_transform(call.path(1), transform));
  done.metrics.add("transform", transform.m, "pixels",
                   "position of tile (i, j) = [[a, b], [c, d]] * (i, j); a, b, c, d");
  done.metrics.add("row_pairs", used[0], "pairs", "pairs of neighbours along rows that count");
  done.metrics.add("column_pairs", used[1], "pairs", "the same along columns");
  done.text = fmt::format("{}: steps ({:.2f}, {:.2f}) and ({:.2f}, {:.2f}) pixels, of {} and {} pairs\n", call.path(1),
                          transform.m[0], transform.m[2], transform.m[1], transform.m[3], used[0], used[1]);
  return done;
}

}  // namespace

Step estimate_transform_step() {
  Step step;
  step.what.name = "estimate-transform";
  step.what.summary = "where tiles lie, from the overlaps of a projection";
  step.what.about =
      "Neighbouring tiles of AIP are laid over each other where they correlate best, to fractions of a pixel; the mean "
      "step along each axis of the grid makes the 2 x 2 matrix (float64, .npy) that gives the position of tile (i, j). "
      "Overlaps with next to nothing above Otsu's threshold do not count.";
  step.what.arguments = {{"AIP", "projection of a mosaic grid (`oct aip`)", false},
                         {"TRANSFORM", "the matrix to write, NAME.npy", true}};
  step.what.options = {
      number_option("initial_overlap", "0.2", "part of a tile that neighbours share, about"),
      number_option("max_empty_fraction", "0.9", "overlaps with more below the threshold do not count"),
      flag_option("use_motor_positions", "do not look: steps are those of initial_overlap"),
  };
  step.what.example = "mosaic_grid_z00_aip.ome.zarr mosaic_grid_z00_transform.npy";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

#include "oct/transform/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "oct/transform/offset.hpp"
#include "oct/transform/tile_transform.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr double kLeastScore = 0.3;  // correlation of an overlap that counts
constexpr double kOutlier = 2;       // pixels from the median; what is farther away does not count

/// Whether so many of an image's pixels are not above a threshold that nothing is to be seen.
bool is_empty(const Image& image, double threshold, double max_fraction) {
  const auto low = std::ranges::count_if(image.values, [&](float v) { return !(v > threshold); });
  return static_cast<double>(low) > max_fraction * static_cast<double>(image.values.size());
}

Image part(const Image& image, std::uint64_t row, std::uint64_t col, std::uint64_t rows, std::uint64_t cols) {
  Image out{rows, cols, {}};
  for (std::uint64_t r = 0; r < rows; ++r)
    for (std::uint64_t c = 0; c < cols; ++c) out.values.push_back(image.at(row + r, col + c));
  return out;
}

/// The steps that pairs of neighbours along one axis of the grid say.
struct Steps {
  std::vector<Offset> found;
  std::uint64_t pairs = 0, empty = 0;
};

struct Estimate {
  const Image& aip;
  const TileGrid& grid;
  double overlap = 0.2, max_empty = 0.9, threshold = 0;

  [[nodiscard]] Image tile(std::uint64_t i, std::uint64_t j) const {
    return part(aip, i * grid.tile_rows, j * grid.tile_cols, grid.tile_rows, grid.tile_cols);
  }
  /// Pairs (i, j) and (i + 1, j), or (i, j + 1).
  [[nodiscard]] Result<Steps> steps(bool down, const Options& options) const {
    Steps s;
    const std::uint64_t side = down ? grid.tile_rows : grid.tile_cols;
    const auto step = static_cast<std::uint64_t>(static_cast<double>(side) * (1 - overlap));
    const std::uint64_t shared = side - step, reach = std::max<std::uint64_t>(side / 10, 4);
    for (std::uint64_t i = 0; i + (down ? 1 : 0) < grid.rows; ++i)
      for (std::uint64_t j = 0; j + (down ? 0 : 1) < grid.cols; ++j) {
        PENSTOCK_TRY(options.stop().check("oct estimate-transform"));
        const Image a = tile(i, j), b = tile(i + (down ? 1 : 0), j + (down ? 0 : 1));
        const Image end = down ? part(a, step, 0, shared, a.cols) : part(a, 0, step, a.rows, shared);
        const Image begin = down ? part(b, 0, 0, shared, b.cols) : part(b, 0, 0, b.rows, shared);
        ++s.pairs;
        if (is_empty(end, threshold, max_empty) || is_empty(begin, threshold, max_empty)) {
          ++s.empty;
          continue;
        }
        const Offset guess{down ? static_cast<double>(step) : 0, down ? 0 : static_cast<double>(step), 0};
        const auto offset = find_offset(a, b, guess, reach);
        if (offset && offset->score >= kLeastScore) s.found.push_back(*offset);
      }
    return s;
  }
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The mean step, weighted by how well the overlaps fit, of those near the median.
struct Step2 {
  double row = 0, col = 0;
  std::uint64_t used = 0;
};
Step2 mean_step(const std::vector<Offset>& found) {
  Step2 mean;
  if (found.empty()) return mean;
  std::vector<double> rows, cols;
  for (const Offset& o : found) rows.push_back(o.row), cols.push_back(o.col);
  const double row = median_of(rows), col = median_of(cols);
  double weights = 0;
  for (const Offset& o : found) {
    if (std::hypot(o.row - row, o.col - col) > kOutlier) continue;
    const double w = o.score * o.score;
    mean.row += w * o.row, mean.col += w * o.col, weights += w;
    ++mean.used;
  }
  if (weights > 0) mean.row /= weights, mean.col /= weights;
  return mean;
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
  Estimate estimate{aip, grid, call.number("initial_overlap"), call.number("max_empty_fraction"), 0};
  if (!(estimate.overlap > 0) || !(estimate.overlap < 1))
    return Error(ErrorCode::invalid_argument, "initial_overlap must lie between 0 and 1");
  StatisticsRequest request;
  request.otsu = true;
  PENSTOCK_ASSIGN(const TensorView view,
                  TensorView::packed(const_cast<float*>(aip.values.data()), DType::float32(), {aip.values.size()}));
  PENSTOCK_ASSIGN_IN(const Statistics made, statistics(view, request, call.options), call.path(0));
  estimate.threshold = made.otsu.value_or(0);
  TileTransform transform;
  const bool motor = call.flag("use_motor_positions");
  std::uint64_t used[2] = {};
  for (const bool down : {true, false}) {
    const double side = static_cast<double>(down ? grid.tile_rows : grid.tile_cols);
    Step2 step;
    if (!motor) {
      PENSTOCK_ASSIGN(const Steps s, estimate.steps(down, call.options));
      step = mean_step(s.found);
      if (step.used == 0 && s.pairs > 0)
        done.metrics.warn(
            fmt::format("no overlap {} says where tiles lie ({} pairs, {} empty); the step is that of initial_overlap",
                        down ? "along rows" : "along columns", s.pairs, s.empty));
    }
    if (step.used == 0) (down ? step.row : step.col) = side * (1 - estimate.overlap);
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
      "step "
      "along each axis of the grid makes the 2 x 2 matrix (float64, .npy) that gives the position of tile (i, j). "
      "Overlaps "
      "with next to nothing above Otsu's threshold do not count.";
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

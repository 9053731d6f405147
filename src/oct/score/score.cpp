#include "oct/score/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/file/names.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "oct/score/measure.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {
namespace {

/// A row of the table.
struct Row {
  std::string what;
  double value = 0;  ///< the worst of all slices
  double mark = 0;   ///< at most this
  std::string unit;
  std::string slice;  ///< that is worst
  void worse(double measured, std::uint64_t id) {
    if (slice.empty() || !(measured <= value)) value = measured, slice = fmt::format("slice {}", id);
  }
  [[nodiscard]] bool good() const { return value <= mark; }
};

/// What of truth.json is compared.
struct TruthSlice {
  std::uint64_t id = 0;
  std::int64_t galvo_shift = 0;
  std::vector<std::array<double, 2>> positions;
};
struct Truth {
  std::uint64_t interval = 0, rows = 0, cols = 0;
  std::vector<TruthSlice> slices;
};

Result<double> to_number(const Json& value, std::string_view what) {
  if (!value.is_number()) return Error(ErrorCode::invalid_metadata, fmt::format("{} is no number", what));
  return value.get<double>();
}

Result<TruthSlice> parse_slice(const Json& one, std::uint64_t tiles) {
  TruthSlice slice;
  PENSTOCK_ASSIGN(const std::int64_t id, int_member(one, "id", 0, 1000000));
  slice.id = static_cast<std::uint64_t>(id);
  PENSTOCK_ASSIGN(slice.galvo_shift, int_member(one, "galvo_shift", 0, 1 << 20));
  PENSTOCK_ASSIGN(const Json* list, member(one, "tile_positions"));
  if (!list->is_array() || list->size() != tiles)
    return Error(ErrorCode::invalid_metadata, fmt::format("tile_positions is no list of {}", tiles));
  for (const Json& pair : *list) {
    if (!pair.is_array() || pair.size() != 2)
      return Error(ErrorCode::invalid_metadata, "tile_positions holds something that is no pair");
    PENSTOCK_ASSIGN(const double row, to_number(pair[0], "tile_positions"));
    PENSTOCK_ASSIGN(const double col, to_number(pair[1], "tile_positions"));
    slice.positions.push_back({row, col});
  }
  return slice;
}

Result<Truth> parse_truth(std::string_view text) {
  PENSTOCK_ASSIGN(const Json all, parse_json(text));
  Truth truth;
  PENSTOCK_ASSIGN(const std::int64_t interval, int_member(all, "interval_planes", 1, 1 << 20));
  truth.interval = static_cast<std::uint64_t>(interval);
  PENSTOCK_ASSIGN(const Json* grid, member(all, "grid"));
  if (!grid->is_array() || grid->size() != 2) return Error(ErrorCode::invalid_metadata, "grid is no pair");
  PENSTOCK_ASSIGN(truth.rows, to_u64((*grid)[0], "grid"));
  PENSTOCK_ASSIGN(truth.cols, to_u64((*grid)[1], "grid"));
  if (truth.rows == 0 || truth.rows > 10000 || truth.cols == 0 || truth.cols > 10000)
    return Error(ErrorCode::invalid_metadata, "grid is out of bounds");
  PENSTOCK_ASSIGN(const Json* slices, member(all, "slices"));
  if (!slices->is_array()) return Error(ErrorCode::invalid_metadata, "slices is no list");
  for (const Json& one : *slices) {
    PENSTOCK_ASSIGN_IN(TruthSlice slice, parse_slice(one, truth.rows * truth.cols), "slices");
    truth.slices.push_back(std::move(slice));
  }
  return truth;
}

/// Everything that is compared.
class Score {
 public:
  Score(const StepCall& call, Truth truth) : out_(call.path(0)), options_(call.options), truth_(std::move(truth)) {
    const std::string& json = call.text("truth");
    folder_ = (json.find('/') == std::string::npos ? "." : json.substr(0, json.rfind('/'))) + "/truth";
  }

  Status measure() {
    PENSTOCK_ASSIGN(const Volume world, open_volume(folder_ + "/3d_volume.ome.zarr", 3));
    PENSTOCK_ASSIGN(const Volume volume, open_volume(out_ + "/3d_volume.ome.zarr", 3));
    for (const TruthSlice& slice : truth_.slices) {
      PENSTOCK_TRY(compare_mosaic(slice));
      PENSTOCK_TRY(compare_flat(slice));
      PENSTOCK_TRY(compare_tiles(slice));
      const std::string moved = fmt::format("{}/{}_common{}", out_, slice_name("slice", slice.id), kVolumeEnding);
      PENSTOCK_ASSIGN(const Volume placed, open_volume(moved, 3));
      PENSTOCK_TRY_IN(compare_place(slice.id, placed, 0, world, slice_xy_, slice_z_), moved);
      PENSTOCK_TRY_IN(compare_place(slice.id, volume, slice.id * truth_.interval, world, volume_xy_, volume_z_),
                      out_ + "/3d_volume.ome.zarr");
    }
    return {};
  }
  [[nodiscard]] std::vector<Row> rows() const {
    return {mosaic_, galvo_, flat_, tiles_, slice_xy_, slice_z_, volume_xy_, volume_z_};
  }

 private:
  [[nodiscard]] std::string mosaic_path(const std::string& folder, std::uint64_t id) const {
    return fmt::format("{}/{}{}", folder, slice_name("mosaic_grid", id), kVolumeEnding);
  }
  Status compare_mosaic(const TruthSlice& slice) {
    const std::string path = mosaic_path(out_, slice.id);
    PENSTOCK_ASSIGN(const Volume made, open_volume(path, 3));
    PENSTOCK_ASSIGN(const Volume truth, open_volume(mosaic_path(folder_, slice.id), 3));
    PENSTOCK_ASSIGN_IN(const std::uint64_t different, different_elements(made, truth, options_), path);
    mosaic_.worse(static_cast<double>(different), slice.id);
    const std::string json = metrics_path(path, "mosaic");
    PENSTOCK_ASSIGN(const Bytes bytes, read_small(json));
    PENSTOCK_ASSIGN_IN(const Json value, metric(as_text(bytes), "galvo_shift"), json);
    PENSTOCK_ASSIGN_IN(const double shift, to_number(value, "galvo_shift"), json);
    galvo_.worse(std::abs(shift - static_cast<double>(slice.galvo_shift)), slice.id);
    return {};
  }
  Status compare_flat(const TruthSlice& slice) {
    const std::string path = fmt::format("{}/{}_illum_flatfield.npy", out_, slice_name("mosaic_grid", slice.id));
    PENSTOCK_ASSIGN(const NpyArray made, read_npy(path));
    PENSTOCK_ASSIGN(const NpyArray truth, read_npy(folder_ + "/flatfield.npy"));
    if (made.shape != truth.shape)
      return Error(ErrorCode::invalid_metadata,
                   fmt::format("{}: shape {}, not {}", path, to_string(made.shape), to_string(truth.shape)));
    double sum = 0;
    for (std::size_t i = 0; i < made.values.size(); ++i) sum += std::pow(made.values[i] - truth.values[i], 2);
    flat_.worse(std::sqrt(sum / static_cast<double>(made.values.size())), slice.id);
    return {};
  }
  /// From the first tile, as all positions are.
  Status compare_tiles(const TruthSlice& slice) {
    PENSTOCK_ASSIGN(const TileTransform made,
                    read_transform(fmt::format("{}/{}_transform.npy", out_, slice_name("mosaic_grid", slice.id))));
    double worst = 0;
    for (std::uint64_t k = 0; k < slice.positions.size(); ++k) {
      const std::uint64_t i = k / truth_.cols, j = k % truth_.cols;
      worst = std::max(worst, std::hypot(made.row(i, j) - (slice.positions[k][0] - slice.positions[0][0]),
                                         made.col(i, j) - (slice.positions[k][1] - slice.positions[0][1])));
    }
    tiles_.worse(worst, slice.id);
    return {};
  }
  /// Planes of the slice below its surface, where it is bright.
  Status compare_place(std::uint64_t id, const Volume& made, std::uint64_t first, const Volume& world, Row& across,
                       Row& along) {
    const std::uint64_t skip = 4,
                        planes = std::min<std::uint64_t>(20, truth_.interval - std::min(truth_.interval, skip));
    PENSTOCK_ASSIGN(const auto found,
                    displacement(made, first + skip, world, id * truth_.interval + skip, planes, options_));
    if (!found) return Error(ErrorCode::invalid_metadata, fmt::format("slice {} is not to be found in it", id));
    // Images begin where the NGFF metadata say.
    const double row = found->row - (made.offset_mm[1] - world.offset_mm[1]) / made.spacing_mm[1];
    const double col = found->col - (made.offset_mm[2] - world.offset_mm[2]) / made.spacing_mm[2];
    across.worse(std::hypot(row, col), id);
    along.worse(std::abs(found->plane), id);
    return {};
  }

  std::string out_, folder_;
  const Options& options_;
  Truth truth_;
  Row mosaic_{"mosaic", 0, 0, "elements that differ", ""};
  Row galvo_{"galvo shift", 0, 0, "A-lines", ""};
  Row flat_{"flat field", 0, 0.02, "RMSE, of mean 1", ""};
  Row tiles_{"tile positions", 0, 1, "pixels", ""};
  Row slice_xy_{"slice, across", 0, 0.5, "pixels", ""};
  Row slice_z_{"slice, along depth", 0, 1, "planes", ""};
  Row volume_xy_{"volume, across", 0, 0.5, "pixels", ""};
  Row volume_z_{"volume, along depth", 0, 1, "planes", ""};
};

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  const std::string& path = call.text("truth");
  PENSTOCK_ASSIGN(const Bytes bytes, read_small(path));
  PENSTOCK_ASSIGN_IN(Truth truth, parse_truth(as_text(bytes)), path);
  Score score(call, std::move(truth));
  PENSTOCK_TRY(score.measure());
  done.text = fmt::format("{:<22}{:>10}  {:>6}\n", "quantity", "worst", "mark");
  for (const Row& row : score.rows()) {
    done.text += fmt::format("{:<22}{:>10.4g}  {:>6.4g}  {}  {} ({})\n", row.what, row.value, row.mark,
                             row.good() ? "good" : "MISS", row.unit, row.slice);
    done.metrics.add(row.what, row.value, row.unit, fmt::format("the worst, of {}; mark {}", row.slice, row.mark));
    if (!row.good()) done.metrics.warn(fmt::format("{}: {} is above the mark {}", row.what, row.value, row.mark));
    done.good = done.good && row.good();
  }
  return done;
}

}  // namespace

Step score_step() {
  Step step;
  step.what.name = "score";
  step.what.summary = "a reconstruction of a made subject beside the truth";
  step.what.about = "Prints the worst of all slices and its mark; the exit code is 1 where one is missed.";
  step.what.arguments = {{"OUT", "folder of a reconstruction", false}};
  step.what.options = {path_option("truth", "truth.json of `oct simulate`")};
  step.what.example = "out --truth subject/truth.json";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

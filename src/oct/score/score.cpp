#include "oct/score/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "oct/align/z_overlap.hpp"
#include "oct/file/names.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "oct/memory.hpp"
#include "oct/score/measure.hpp"
#include "oct/score/truth.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {
namespace {

constexpr double kShallow = 12;  // planes below the surface; with fewer a slice does not say where it lies

/// A result whose error says what to do.
template <class T>
Result<T> with_hint(Result<T> result, const char* hint) {
  if (result) return result;
  Error error = result.error();
  return error.set_hint(hint);
}

/// A row of the table.
struct Row {
  std::string what;
  double mark = 0;
  std::string unit;
  bool at_least = false;        ///< else at most the mark
  std::optional<double> value;  ///< the worst of all slices; nullopt: nothing was there to measure
  std::string slice = {};       ///< that is worst
  void take(double measured, std::string_view where) {
    if (value && (at_least ? measured >= *value : measured <= *value)) return;  // what is no number is worst
    value = measured, slice = where;
  }
  [[nodiscard]] bool good() const { return !value || (at_least ? *value >= mark : *value <= mark); }
};

/// Everything that is compared.
class Score {
 public:
  /// `options`: for elements in host memory, where all of it is measured.
  Score(const StepCall& call, Options options, Truth truth)
      : call_(call), out_(call.path(0)), options_(std::move(options)), truth_(std::move(truth)) {
    const std::string& json = call.text("truth");
    folder_ = (json.find('/') == std::string::npos ? "." : json.substr(0, json.rfind('/'))) + "/truth";
  }

  Status measure() {
    PENSTOCK_ASSIGN(const Volume world, open_volume(folder_ + "/3d_volume.ome.zarr", 3));
    PENSTOCK_ASSIGN(const Volume volume,
                    with_hint(open_volume(volume_path(), 3), "OUT is what `oct reconstruct` wrote."));
    const TruthSlice* before = nullptr;
    for (const TruthSlice& slice : truth_.slices) {
      PENSTOCK_TRY(options_.stop().check("oct score"));
      where_ = fmt::format("slice {}", slice.id);
      PENSTOCK_TRY(compare_mosaic(slice));
      PENSTOCK_TRY(compare_field(slice, "illum_flatfield", "flatfield", flat_));
      PENSTOCK_TRY(compare_field(slice, "focal_focal", "focal", focal_));
      PENSTOCK_TRY(compare_crop(slice));
      if (slice.agarose || slice.depth() < kShallow) continue;
      PENSTOCK_TRY(compare_tiles(slice));
      PENSTOCK_TRY(compare_interface(slice));
      PENSTOCK_TRY(compare_stitched(slice));
      const std::string moved = slice_path(slice.id, "common");
      PENSTOCK_ASSIGN(const Volume placed, open_volume(moved, 3));
      PENSTOCK_TRY_IN(compare_place(slice, placed, 0, world, slice_xy_, slice_z_, nullptr), moved);
      PENSTOCK_TRY_IN(compare_place(slice, volume, slice.id * truth_.interval, world, volume_xy_, volume_z_, &alike_),
                      volume_path());
      if (before != nullptr) PENSTOCK_TRY(compare_overlap(*before, slice, placed));
      before = &slice;
    }
    where_ = "volume";
    PENSTOCK_TRY_IN(compare_steps(volume), volume_path());
    PENSTOCK_TRY_IN(compare_levels(volume), volume_path());
    return {};
  }
  [[nodiscard]] const std::deque<Row>& rows() const { return rows_; }

 private:
  Row& row(std::string what, double mark, std::string unit, bool at_least = false) {
    return rows_.emplace_back(Row{std::move(what), mark, std::move(unit), at_least, {}});
  }
  [[nodiscard]] std::string mosaic_path(const std::string& folder, std::uint64_t id) const {
    return fmt::format("{}/{}{}", folder, slice_name("mosaic_grid", id), kVolumeEnding);
  }
  [[nodiscard]] std::string slice_path(std::uint64_t id, std::string_view process) const {
    return fmt::format("{}/{}_{}{}", out_, slice_name("slice", id), process, kVolumeEnding);
  }
  [[nodiscard]] std::string volume_path() const { return fmt::format("{}/3d_volume{}", out_, kVolumeEnding); }

  [[nodiscard]] static Result<double> measured(const std::string& json, std::string_view name) {
    PENSTOCK_ASSIGN(const Bytes bytes, read_small(json));
    PENSTOCK_ASSIGN_IN(const Json value, metric(as_text(bytes), name), json);
    PENSTOCK_ASSIGN_IN(const double number, to_number(value, name), json);
    return number;
  }

  Status compare_mosaic(const TruthSlice& slice) {
    const std::string path = mosaic_path(out_, slice.id);
    PENSTOCK_ASSIGN(const Volume made, open_volume(path, 3));
    PENSTOCK_ASSIGN(const Volume truth, open_volume(mosaic_path(folder_, slice.id), 3));
    PENSTOCK_ASSIGN_IN(const std::uint64_t different, different_elements(made, truth, options_), path);
    mosaic_.take(static_cast<double>(different), where_);
    PENSTOCK_ASSIGN(const double shift, measured(metrics_path(path, "mosaic"), "galvo_shift"));
    galvo_.take(std::abs(shift - static_cast<double>(slice.galvo_shift)), where_);
    return {};
  }

  /// A field of every tile beside its truth, where the run has made it.
  Status compare_field(const TruthSlice& slice, std::string_view name, std::string_view true_name, Row& row) {
    const std::string path = fmt::format("{}/{}_{}.npy", out_, slice_name("mosaic_grid", slice.id), name);
    PENSTOCK_ASSIGN(const bool there, small_exists(path));
    if (!there) return {};
    PENSTOCK_ASSIGN(const NpyArray made, read_npy(path));
    PENSTOCK_ASSIGN(const NpyArray truth, read_npy(fmt::format("{}/{}.npy", folder_, true_name)));
    if (made.shape != truth.shape)
      return Error(ErrorCode::invalid_metadata,
                   fmt::format("{}: shape {}, not {}", path, to_string(made.shape), to_string(truth.shape)));
    double sum = 0;
    for (std::size_t i = 0; i < made.values.size(); ++i) sum += std::pow(made.values[i] - truth.values[i], 2);
    row.take(std::sqrt(sum / static_cast<double>(made.values.size())), where_);
    return {};
  }

  /// The plane that it is cut off at, and how many are left.
  Status compare_crop(const TruthSlice& slice) {
    const std::string path = slice_path(slice.id, "crop");
    PENSTOCK_ASSIGN(const Volume made, open_volume(path, 3));
    PENSTOCK_ASSIGN(const double first, measured(metrics_path(path, "crop-below-interface"), "interface_plane"));
    const double planes = static_cast<double>(slice.planes) - first;
    if (static_cast<double>(made.shape[0]) > planes)
      return Error(ErrorCode::invalid_metadata, fmt::format("{}: more planes than lie below the interface", path));
    if (!slice.agarose)
      crop_.take(std::abs(first - std::clamp(slice.surface, 0.0, static_cast<double>(slice.planes) - 1)), where_);
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
    tiles_.take(worst, where_);
    return {};
  }

  /// Of the columns of the stitched slice, half of them, and all but one in twenty; where a run has made the map.
  Status compare_interface(const TruthSlice& slice) {
    const std::string path = slice_path(slice.id, "stitch"),
                      map_path = fmt::format("{}/{}_interface.npy", out_, slice_name("slice", slice.id));
    PENSTOCK_ASSIGN(const bool there, small_exists(map_path));
    if (!there) return {};
    PENSTOCK_ASSIGN(const NpyArray map, read_npy(map_path));
    PENSTOCK_ASSIGN(const Volume made, open_volume(path, 3));
    if (map.shape != Shape{made.shape[1], made.shape[2]})
      return Error(ErrorCode::invalid_metadata, fmt::format("{}: shape {}, the slice has {}", map_path,
                                                            to_string(map.shape), to_string(made.shape)));
    const std::string truth_path = fmt::format("{}/{}_interface.npy", folder_, slice_name("slice", slice.id));
    PENSTOCK_ASSIGN(const NpyArray truth, read_npy(truth_path));
    const auto top = static_cast<std::int64_t>(std::nearbyint(made.offset_mm[1] / made.spacing_mm[1])),
               left = static_cast<std::int64_t>(std::nearbyint(made.offset_mm[2] / made.spacing_mm[2]));
    std::vector<double> off;
    for (std::uint64_t i = 0; i < map.values.size(); ++i) {
      const auto r = static_cast<std::int64_t>(i / made.shape[2]) + top,
                 c = static_cast<std::int64_t>(i % made.shape[2]) + left;
      if (r < 0 || c < 0 || r >= static_cast<std::int64_t>(truth.shape[0]) ||
          c >= static_cast<std::int64_t>(truth.shape[1]))
        continue;
      const double surface = truth.values[static_cast<std::size_t>(r) * truth.shape[1] + static_cast<std::size_t>(c)];
      off.push_back(std::abs(map.values[i] - std::clamp(surface, 0.0, static_cast<double>(slice.planes - 1))));
    }
    if (off.empty()) return Error(ErrorCode::invalid_metadata, path + ": lies beside the truth");
    std::ranges::sort(off);
    interface_half_.take(off[off.size() / 2], where_);
    interface_most_.take(off[off.size() * 95 / 100], where_);
    return {};
  }

  Status compare_stitched(const TruthSlice& slice) {
    const std::string path = slice_path(slice.id, "stitch");
    PENSTOCK_ASSIGN(const Volume made, open_volume(path, 3));
    PENSTOCK_ASSIGN(const Volume truth,
                    open_volume(fmt::format("{}/{}{}", folder_, slice_name("slice", slice.id), kVolumeEnding), 3));
    PENSTOCK_ASSIGN_IN(const double likeness, projection_likeness(made, truth, options_), path);
    stitched_.take(likeness, where_);
    return {};
  }

  /// Planes of the slice below its surface, where it is bright.
  Status compare_place(const TruthSlice& slice, const Volume& made, std::uint64_t first, const Volume& world,
                       Row& across, Row& along, Row* alike) {
    const std::uint64_t skip = 4,
                        planes = std::min<std::uint64_t>({20, truth_.interval - std::min(truth_.interval, skip),
                                                          static_cast<std::uint64_t>(slice.depth()) - 2 * skip});
    if (made.shape[0] < first + skip + planes) {  // what should be there was thrown away
      for (Row* row : {&across, &along}) row->take(std::numeric_limits<double>::infinity(), where_);
      return {};
    }
    PENSTOCK_ASSIGN(const auto found,
                    displacement(made, first + skip, world, slice.id * truth_.interval + skip, planes, options_));
    if (!found) return Error(ErrorCode::invalid_metadata, fmt::format("slice {} is not to be found in it", slice.id));
    across.take(std::hypot(found->row, found->col), where_);
    along.take(std::abs(found->plane), where_);
    if (alike != nullptr) alike->take(found->correlation, where_);
    return {};
  }

  /// Planes that it shares with the slice before it.
  Status compare_overlap(const TruthSlice& before, const TruthSlice& slice, const Volume& moving) {
    const std::string path = slice_path(before.id, "common");
    PENSTOCK_ASSIGN(const Volume fixed, open_volume(path, 3));
    const std::uint64_t apart = (slice.id - before.id) * truth_.interval;
    if (fixed.shape[0] < apart + 8) return {};  // next to nothing is shared
    const std::uint64_t shared = fixed.shape[0] - apart, most = std::min(fixed.shape[0], moving.shape[0]);
    if (shared > most) return {};
    PENSTOCK_ASSIGN(const ZOverlap found, best_z_overlap(fixed, moving, path, slice_path(slice.id, "common"),
                                                         shared - std::min<std::uint64_t>(shared - 1, 10),
                                                         std::min(shared + 10, most), Device{}, options_));
    overlap_.take(std::abs(static_cast<double>(found.planes) - static_cast<double>(shared)), where_);
    return {};
  }

  /// From plane to plane where slices begin and end.
  Status compare_steps(const Volume& volume) {
    for (const TruthSlice& slice : truth_.slices) {
      PENSTOCK_ASSIGN(const Volume placed, open_volume(slice_path(slice.id, "common"), 3));
      const std::uint64_t begin = slice.id * truth_.interval;
      for (const std::uint64_t at : {begin, begin + placed.shape[0]}) {
        if (at == 0 || at >= volume.shape[0]) continue;
        PENSTOCK_ASSIGN(const auto step, plane_step(volume, at, options_));
        if (step) steps_.take(100 * std::abs(*step), fmt::format("slice {}", slice.id));
      }
    }
    return {};
  }

  /// Each is half of the one before, at its place, and as bright.
  Status compare_levels(const Volume& volume) {
    PENSTOCK_ASSIGN(const PyramidFit fit, compare_pyramid(volume_path(), volume, options_));
    levels_.take(static_cast<double>(fit.wrong), where_);
    level_means_.take(fit.worst_mean, where_);
    return {};
  }

  const StepCall& call_;
  std::string out_, folder_, where_;
  const Options options_;
  Truth truth_;
  std::deque<Row> rows_;  // their addresses stay
  Row& mosaic_ = row("mosaic", 0, "elements that differ");
  Row& galvo_ = row("galvo shift", 0, "A-lines");
  Row& flat_ = row("flat field", 0.02, "RMSE, of mean 1");
  Row& focal_ = row("focal map", 0.5, "RMSE, planes");
  Row& tiles_ = row("tile positions", 1, "pixels");
  Row& interface_half_ = row("interface, median", 1, "planes");
  Row& interface_most_ = row("interface, 95 %", 2, "planes");
  Row& stitched_ = row("stitched slice", 0.95, "correlation of projections", true);
  Row& crop_ = row("crop", 1, "planes");
  Row& overlap_ = row("overlap", 1, "planes");
  Row& slice_xy_ = row("slice, across", 0.5, "pixels");
  Row& slice_z_ = row("slice, along depth", 1, "planes");
  Row& volume_xy_ = row("volume, across", 0.5, "pixels");
  Row& volume_z_ = row("volume, along depth", 1, "planes");
  Row& alike_ = row("volume, likeness", 0.95, "correlation of projections", true);
  Row& steps_ = row("volume, seams", 3, "%, from plane to plane");
  Row& levels_ = row("pyramid", 0, "wrong shapes and scales");
  Row& level_means_ = row("pyramid, means", 1e-3, "relative");
};

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  const std::string& path = call.text("truth");
  PENSTOCK_ASSIGN(const Bytes bytes, with_hint(read_small(path), "--truth is truth.json of a subject, a file."));
  PENSTOCK_ASSIGN_IN(Truth truth, parse_truth(as_text(bytes)), path);
  // With --device cuda the step's memory is that of the GPU, which nothing here is in.
  PENSTOCK_ASSIGN(Options host, StepMemory::options({}, on_host(call.options)));
  Score score(call, std::move(host), std::move(truth));
  PENSTOCK_TRY(score.measure());
  done.text = fmt::format("{:<22}{:>10}  {:>6}\n", "quantity", "worst", "mark");
  for (const Row& row : score.rows()) {
    if (!row.value) {
      done.text += fmt::format("{:<22}{:>10}  {:>6.4g}  not measured: {}\n", row.what, "-", row.mark, row.unit);
      continue;
    }
    done.text += fmt::format("{:<22}{:>10.4g}  {:>6.4g}  {}  {} ({})\n", row.what, *row.value, row.mark,
                             row.good() ? "good" : "MISS", row.unit, row.slice);
    done.metrics.add(
        row.what, *row.value, row.unit,
        fmt::format("the worst, of {}; mark {} {}", row.slice, row.at_least ? "at least" : "at most", row.mark));
    if (!row.good())
      done.metrics.warn(
          fmt::format("{}: {} is {} the mark {}", row.what, *row.value, row.at_least ? "below" : "above", row.mark));
    done.good = done.good && row.good();
  }
  return done;
}

}  // namespace

Step score_step() {
  Step step;
  step.what.name = "score";
  step.what.summary = "a reconstruction of a made subject beside the truth";
  step.what.about =
      "Prints the worst of all slices and its mark; the exit code is 1 where one is missed. The focal map is compared "
      "where fix-focal-curvature has made mosaic_grid_zNN_focal.ome.zarr in OUT, the interface where tissue-interface "
      "has written slice_zNN_interface.npy there.";
  step.what.arguments = {{"OUT", "folder of a reconstruction", false}};
  step.what.options = {path_option("truth", "truth.json of `oct simulate`")};
  step.what.example = "out --truth subject/truth.json";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

#include "oct/align/common_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/file/apart.hpp"
#include "oct/file/names.hpp"
#include "oct/file/shifts.hpp"
#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;
constexpr double kMaxExtent = 1 << 20;  // pixels of the common image along an axis

/// Slices and where they lie.
struct Placed {
  std::vector<std::uint64_t> ids;
  std::vector<std::string> paths;
  std::vector<Volume> slices;
  std::vector<double> rows, cols;  ///< pixels in the common image
  double origin_y_mm = 0, origin_x_mm = 0;
  std::uint64_t height = 0, width = 0;
};

Result<Placed> place(const StepCall& call) {
  Placed p;
  PENSTOCK_ASSIGN(const auto found, slices_in(call.path(0), "slice", call.text("process")));
  for (const auto& [id, path] : found) {
    p.ids.push_back(id);
    p.paths.push_back(path);
    PENSTOCK_ASSIGN(Volume slice, open_volume(path, 3));
    p.slices.push_back(std::move(slice));
    for (std::size_t d = 0; d < 3; ++d)
      if (std::abs(p.slices.back().spacing_mm[d] - p.slices[0].spacing_mm[d]) > 1e-6 * p.slices[0].spacing_mm[d])
        return Error(ErrorCode::invalid_metadata,
                     fmt::format("{}: its voxels are of another size than those of {}", path, p.paths[0]));
  }
  const std::string& csv = call.text("shifts");
  PENSTOCK_ASSIGN(const Bytes bytes, read_small(csv));
  PENSTOCK_ASSIGN_IN(const std::vector<Shift> shifts, parse_shifts(as_text(bytes)), csv);
  PENSTOCK_ASSIGN_IN(const std::vector<SlicePosition> positions,
                     chain_shifts(shifts, p.ids, [&](std::uint64_t) { return call.flag("missing_slices"); }), csv);
  std::vector<double> y_mm, x_mm;  // of the images, whose first pixel need not be that of tile (0, 0)
  std::vector<SliceExtent> extents;
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const Volume& slice = p.slices[k];
    y_mm.push_back(positions[k].y_mm + slice.offset_mm[1]);
    x_mm.push_back(positions[k].x_mm + slice.offset_mm[2]);
    extents.push_back({static_cast<double>(slice.shape[2]) * slice.spacing_mm[2],
                       static_cast<double>(slice.shape[1]) * slice.spacing_mm[1]});
  }
  PENSTOCK_TRY_IN(check_neighbours(positions, extents), csv);
  p.origin_y_mm = std::ranges::min(y_mm), p.origin_x_mm = std::ranges::min(x_mm);
  const double dy = p.slices[0].spacing_mm[1], dx = p.slices[0].spacing_mm[2];
  double height = 0, width = 0;
  for (std::size_t k = 0; k < positions.size(); ++k) {
    p.rows.push_back((y_mm[k] - p.origin_y_mm) / dy);
    p.cols.push_back((x_mm[k] - p.origin_x_mm) / dx);
    height = std::max(height, std::ceil(p.rows[k] - 1e-6 + static_cast<double>(p.slices[k].shape[1])));
    width = std::max(width, std::ceil(p.cols[k] - 1e-6 + static_cast<double>(p.slices[k].shape[2])));
  }
  if (!(height < kMaxExtent) || !(width < kMaxExtent))
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{}: slices would lie on an image of {} x {} pixels", csv, height, width))
        .set_hint("x_shift_mm and y_shift_mm are in millimetres.");
  p.height = static_cast<std::uint64_t>(height), p.width = static_cast<std::uint64_t>(width);
  return p;
}

std::string moved_path(const StepCall& call, const Placed& p, std::size_t k) {
  return fmt::format("{}/{}_common{}", call.path(1), slice_name("slice", p.ids[k]), kVolumeEnding);
}

/// Says, while it is there, that slices of a run that has not ended stand beside it; the next run replaces them.
class Unfinished {
 public:
  static Result<Unfinished> open(const std::string& folder) {
    Unfinished mark(folder + "/common_space.unfinished");
    PENSTOCK_ASSIGN(mark.found_, small_exists(mark.path_));
    return mark;
  }
  [[nodiscard]] bool found() const { return found_; }
  Status put() const {
    return write_small(path_, as_bytes("oct common-space has not moved all slices of this folder\n"));
  }
  Status take_away() const { return erase_small(path_); }

 private:
  explicit Unfinished(std::string path) : path_(std::move(path)) {}
  std::string path_;
  bool found_ = false;
};

/// One slice at its place: linear interpolation, 0 where it has nothing.
Status move_slice(const StepCall& call, const Placed& p, std::size_t k, bool replace) {
  const Volume& slice = p.slices[k];
  VolumeSpec spec;
  spec.shape = {slice.shape[0], p.height, p.width};
  spec.chunks = {kChunk, kChunk, kChunk};
  spec.spacing_mm = slice.spacing_mm;
  spec.offset_mm = {0, p.origin_y_mm, p.origin_x_mm};
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(moved_path(call, p, k), spec, replace));
  const OpCall move{
      "affine_transform",
      fmt::format(R"({{"matrix":[1,1,1],"offset":[0,{},{}],"output_shape":[{},{},{}],"order":1,"mode":"constant"}})",
                  -p.rows[k], -p.cols[k], spec.shape[0], p.height, p.width)};
  PENSTOCK_ASSIGN_IN(const LazyArray moved, LazyArray::make(slice.array, std::span(&move, 1)), p.paths[k]);
  PENSTOCK_TRY_IN(moved.write(out.array(), call.device, call.options), p.paths[k]);
  return out.finish(call.device, call.options);
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Placed p, place(call));
  PENSTOCK_ASSIGN(const Unfinished mark, Unfinished::open(call.path(1)));
  const bool replace = call.force || mark.found();
  for (std::size_t k = 0; k < p.ids.size(); ++k) {
    PENSTOCK_TRY(check_apart(moved_path(call, p, k), p.paths[k]));
    PENSTOCK_TRY(NewVolume::check(moved_path(call, p, k), replace));
  }
  PENSTOCK_TRY(mark.put());
  Json rows = Json::object(), cols = Json::object();
  for (std::size_t k = 0; k < p.ids.size(); ++k) {
    PENSTOCK_TRY(move_slice(call, p, k, replace));
    rows[std::to_string(p.ids[k])] = p.rows[k];
    cols[std::to_string(p.ids[k])] = p.cols[k];
  }
  PENSTOCK_TRY(mark.take_away());
  done.metrics.ran("slices moved", call.device.name());
  done.metrics.add("slices", p.ids.size(), "slices", "slices that were placed");
  done.metrics.note("row", rows, "pixels, of each slice in the common image");
  done.metrics.note("column", cols, "the same of columns");
  done.text = fmt::format("{}: {} slices on {} x {} pixels\n", call.path(1), p.ids.size(), p.height, p.width);
  return done;
}

}  // namespace

Step common_space_step() {
  Step step;
  step.what.name = "common-space";
  step.what.summary = "move slices to their place in one image that holds all";
  step.what.about =
      "A slice's place is the sum of its shifts: x along columns, y along rows, a positive step towards higher "
      "indices. SLICES holds slice_zNN_PROCESS.ome.zarr; MOVED gets slice_zNN_common.ome.zarr, all of the same rows "
      "and columns. Values between pixels are interpolated linearly; where a slice has nothing it is 0.";
  step.what.arguments = {{"SLICES", "folder of slices", false},
                         {"MOVED", "folder for the moved slices; may be the same", true}};
  step.what.options = {
      path_option("shifts", "shifts_xy.csv: fixed_id, moving_id, x_shift_mm, y_shift_mm"),
      text_option("process", "crop", "which slices: what stands before .ome.zarr"),
      flag_option("missing_slices", "slices that the shifts name may be missing"),
  };
  step.what.example = "slices moved --shifts subject/raw/shifts_xy.csv";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

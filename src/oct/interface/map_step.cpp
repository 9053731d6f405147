// The step that writes where tissue begins.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/small_file.hpp"
#include "oct/interface/map.hpp"

namespace penstock::oct {
namespace {

InterfaceMapOptions options_of(const StepCall& call) {
  const double sigma_xy = call.number("sigma_xy");
  InterfaceMapOptions how;
  how.width = static_cast<std::uint64_t>(std::clamp(sigma_xy, 0.0, 1e6));
  how.sigma_z = call.number("sigma_z");
  how.logarithm = !call.flag("no_log");
  how.cutting_errors = call.flag("detect_cutting_errors");
  how.compat = call.flag("compat");
  return how;
}

/// The tile with the columns around it that the average of its own reaches.
Region with_halo(const Region& tile, const Shape& shape, std::uint64_t halo) {
  Region box = tile;
  box[0] = {0, shape[0], 1};
  for (std::size_t d = 1; d < 3; ++d) {
    const std::uint64_t first = tile[d].start - std::min(tile[d].start, halo);
    box[d] = {first, std::min(tile[d].start + tile[d].count + halo, shape[d]) - first, 1};
  }
  return box;
}

/// The map of a whole slice, filled tile by tile.
struct MapMaker {
  const Volume& slice;
  const InterfaceMapOptions& how;
  const std::optional<Volume>& mask;
  std::string mask_path;
  std::vector<double> map;

  Status add(const Tile& in, const Region& tile, const Workspace& work, const Options& options) {
    const std::uint64_t rows = in.box[1].count, cols = in.box[2].count;
    Held<float> inside;
    std::optional<TensorView> inside_view;
    if (mask) {
      PENSTOCK_ASSIGN(inside, hold<float>(in.box[0].count * rows * cols, work));
      PENSTOCK_ASSIGN(inside_view, TensorView::packed(inside.data(), DType::float32(), shape_of(in.box), work.stream));
      PENSTOCK_TRY_IN(mask->array.read(in.box, *inside_view, options), mask_path);
    }
    PENSTOCK_ASSIGN(const auto made, hold<double>(rows * cols, work));
    PENSTOCK_TRY(map_interface(in.view, inside_view, how, made.data(), work));
    std::vector<double> here(rows * cols);
    PENSTOCK_TRY(download(made.data(), here.size(), here.data(), work));
    for (std::uint64_t r = 0; r < tile[1].count; ++r)
      std::copy_n(here.data() + (tile[1].start - in.box[1].start + r) * cols + (tile[2].start - in.box[2].start),
                  tile[2].count, map.data() + (tile[1].start + r) * slice.shape[2] + tile[2].start);
    return {};
  }
};

Result<std::optional<Volume>> open_mask(const StepCall& call, const Volume& slice) {
  if (!call.given("mask")) return std::optional<Volume>();
  const std::string& path = call.text("mask");
  PENSTOCK_ASSIGN(Volume mask, open_volume(path, 3));
  if (mask.shape != slice.shape)
    return Error(ErrorCode::invalid_metadata, fmt::format("{}: it has {}, {} has {}", path, to_string(mask.shape),
                                                          call.path(0), to_string(slice.shape)));
  return std::optional<Volume>(std::move(mask));
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  if (!call.path(1).ends_with(".npy"))
    return Error(ErrorCode::invalid_argument, call.path(1) + ": the name must end in .npy");
  PENSTOCK_ASSIGN(const bool there, small_exists(call.path(1)));
  if (there && !call.force)
    return Error(ErrorCode::already_exists, call.path(1) + ": already exists").set_hint("--force replaces it.");
  const InterfaceMapOptions how = options_of(call);
  PENSTOCK_TRY(check(how));
  PENSTOCK_ASSIGN(const Volume slice, open_volume(call.path(0), 3));
  if (slice.shape[0] == 0) return Error(ErrorCode::invalid_argument, call.path(0) + ": it has no planes");
  PENSTOCK_ASSIGN(const std::optional<Volume> mask, open_mask(call, slice));
  MapMaker maker{slice, how, mask, mask ? call.text("mask") : "", {}};
  const std::uint64_t columns = slice.shape[1] * slice.shape[2];
  std::uint64_t mask_bytes = 0;  // of reading it while a tile is made
  if (mask) {
    PENSTOCK_ASSIGN(const Source inside, source_of(*mask, call.text("mask"), call.device, call.options));
    mask_bytes = 2 * inside.min_read_bytes;
  }
  PENSTOCK_ASSIGN(const Options rest,
                  without_held(call.options, saturating_add(8 * columns, mask_bytes), "oct tissue-interface"));
  PENSTOCK_ASSIGN(const Source source, source_of(slice, call.path(0), call.device, rest));
  Options inner = rest;
  inner.progress = nullptr;
  inner.budget_bytes = std::max<std::uint64_t>(mask_bytes, 1);
  maker.map.assign(columns, 0);
  Pass pass{"oct tissue-interface", slice.shape, {slice.shape[0], slice.chunks[1], slice.chunks[2]}};
  pass.needs = [&](const Region& tile) { return with_halo(tile, slice.shape, how.width / 2); };
  pass.scratch_bytes = [&](const Region& tile) {
    const Shape shape = shape_of(pass.needs(tile));
    const auto bytes = map_interface_bytes(how, shape, mask.has_value());
    const std::uint64_t inside = mask ? 4 * shape[0] * shape[1] * shape[2] : 0;
    return bytes ? *bytes + inside : ~std::uint64_t{0};
  };
  pass.make = [&](const Tile& in, const Tile& out, const Workspace& work) {
    return maker.add(in, out.box, work, inner);
  };
  PENSTOCK_TRY(look_at(source, pass, call.device, rest));
  PENSTOCK_TRY(write_npy(call.path(1), Shape{slice.shape[1], slice.shape[2]}, maker.map));
  double sum = 0;
  for (const double v : maker.map) sum += v / static_cast<double>(columns);
  done.metrics.ran("filters and steepest rise", call.device.name());
  done.metrics.add("mean_depth", sum, "planes", "mean of the interface");
  done.text =
      fmt::format("{}: {} x {} columns, mean depth {:.2f} planes\n", call.path(1), slice.shape[1], slice.shape[2], sum);
  return done;
}

}  // namespace

Step tissue_interface_step() {
  Step step;
  step.what.name = "tissue-interface";
  step.what.summary = "where tissue begins, of each column";
  step.what.about =
      "Columns are averaged over a box; the interface is where the logarithm of the intensity rises most steeply with "
      "depth, to "
      "a fraction of a plane. Of a mask only what it holds counts, as if it lay together. MAP is (rows, columns), "
      "float64, in planes.";
  step.what.arguments = {{"SLICE", "slice or mosaic grid", false}, {"MAP", "the map to write, NAME.npy", true}};
  step.what.options = {
      number_option("sigma_xy", "15", "width of the box in pixels, fractions cut off; 0 and 1: none"),
      number_option("sigma_z", "2", "standard deviation of the Gaussian along depth, in planes"),
      flag_option("no_log", "of the intensity itself"),
      optional_path_option("mask", "volume of the shape of SLICE, NAME.ome.zarr; what is above 0 counts"),
      flag_option("detect_cutting_errors", "where the smoothed intensity is largest above the interface, it is there"),
      flag_option("compat", "whole planes, as linumpy has them: the steepest rise plus half of sigma_z, rounded up"),
  };
  step.what.example = "slice_z00_stitch.ome.zarr slice_z00_interface.npy";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

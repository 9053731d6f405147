#include "oct/mosaic/resample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "oct/walk/walk.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

/// What a step makes of the tiles of a mosaic grid: their numbers stay, their shape does not.
struct Tiles {
  Shape from, to;
  /// Tiles of a box of whole ones, in the other shape.
  [[nodiscard]] static Region scaled(const Region& box, const Shape& own, const Shape& other) {
    Region scaled;
    for (std::size_t d = 0; d < 3; ++d)
      scaled.push_back({box[d].start / own[d] * other[d], box[d].count / own[d] * other[d], 1});
    return scaled;
  }
};

/// Each tile of a box by itself.
Status resample_tiles(const Tiles& tiles, std::span<const OpCall> calls, const Tile& in, const Tile& out,
                      const Workspace& work) {
  const Shape &from = tiles.from, &to = tiles.to;
  PENSTOCK_ASSIGN(const Held<float> made, hold<float>(to[0] * to[1] * to[2], work));
  PENSTOCK_ASSIGN(const TensorView one, TensorView::packed(made.data(), DType::float32(), to, work.stream));
  for (std::uint64_t r = 0; r < out.box[1].count / to[1]; ++r)
    for (std::uint64_t c = 0; c < out.box[2].count / to[2]; ++c) {
      PENSTOCK_ASSIGN(const TensorView tile,
                      part_of_box(in.view, whole(in.view.shape),
                                  {{0, from[0], 1}, {r * from[1], from[1], 1}, {c * from[2], from[2], 1}}));
      PENSTOCK_ASSIGN(
          const TensorView place,
          part_of_box(out.view, whole(out.view.shape), {{0, to[0], 1}, {r * to[1], to[1], 1}, {c * to[2], to[2], 1}}));
      PENSTOCK_TRY(apply_here(calls, tile, made.data(), work));
      PENSTOCK_TRY(copy_elements(one, place));
    }
  return {};
}

OpCall resize_to(const Shape& to, std::string_view align) {
  return {"resize", fmt::format(R"({{"output_shape":[{},{},{}],"align":"{}"}})", to[0], to[1], to[2], align)};
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume mosaic, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(mosaic, call.path(0)));
  const double target_mm = call.number("resolution_um") / 1000;
  if (!(target_mm > 0)) return Error(ErrorCode::invalid_argument, "resolution_um must be above 0");
  const Shape from = {mosaic.shape[0], grid.tile_rows, grid.tile_cols};
  VolumeSpec spec;
  Shape to;
  for (std::size_t d = 0; d < 3; ++d) {
    to.push_back(resampled_extent(from[d], mosaic.spacing_mm[d], target_mm));
    if (to[d] > 8 * from[d])
      return Error(ErrorCode::invalid_argument,
                   fmt::format("resolution_um {}: the mosaic's is {}", target_mm * 1000, mosaic.spacing_mm[d] * 1000));
    spec.spacing_mm.push_back(mosaic.spacing_mm[d] * static_cast<double>(from[d]) / static_cast<double>(to[d]));
  }
  spec.shape = {to[0], grid.rows * to[1], grid.cols * to[2]};
  spec.chunks = to;
  spec.sharding_factor = mosaic.objects[1] / mosaic.chunks[1];
  spec.levels = call.count("n_levels");
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  const Tiles tiles{from, to};
  const OpCall resize = resize_to(to, call.text("align"));
  PENSTOCK_ASSIGN_IN(std::uint64_t scratch, apply_bytes(std::span(&resize, 1), from), call.path(0));
  scratch = saturating_add(scratch, saturating_mul(4 * to[0], saturating_mul(to[1], to[2])));
  Pass pass{"oct resample-mosaic", spec.shape, out.objects()};
  pass.needs = [&](const Region& tile) { return Tiles::scaled(tile, to, from); };
  pass.scratch_bytes = [&](const Region&) { return scratch; };
  pass.make = [&](const Tile& in, const Tile& made, const Workspace& work) {
    return resample_tiles(tiles, std::span(&resize, 1), in, made, work);
  };
  PENSTOCK_ASSIGN(const Source source, source_of(mosaic, call.path(0), call.device, call.options));
  PENSTOCK_TRY(make_volume(source, pass, out, call.path(1), call.device, call.options));
  done.metrics.ran("resize", call.device.name());
  PENSTOCK_TRY(out.finish(call.device, call.options));
  done.metrics.note("tile_shape", to, "pixels of a tile: depth, rows, columns");
  done.metrics.note("spacing_mm", spec.spacing_mm, "voxel size: depth, rows, columns");
  done.text = fmt::format("{}: tiles of {} from {}\n", call.path(1), to_string(to), to_string(from));
  return done;
}

}  // namespace

std::uint64_t resampled_extent(std::uint64_t extent, double spacing_mm, double target_mm) {
  const double wanted = std::nearbyint(static_cast<double>(extent) * spacing_mm / target_mm);
  return static_cast<std::uint64_t>(std::clamp(wanted, 1.0, 1e9));
}

Status resample_tile(std::span<const float> tile, const Shape& shape, std::string_view align, Device device,
                     const TensorView& out, const Options& options) {
  Stream stream;
  if (device.type != Device::Type::cpu) {
    PENSTOCK_ASSIGN(stream, Stream::create(device));
  }
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(const_cast<float*>(tile.data()), DType::float32(), shape));
  PENSTOCK_ASSIGN(const Tensor there, Tensor::share(nullptr, view).to(stream));
  const OpCall resize = resize_to(out.shape, align);
  PENSTOCK_ASSIGN(const Tensor made, apply_operators(std::span(&resize, 1), there.view(), options));
  return copy_elements(made.view(), out);
}

Step resample_step() {
  Step step;
  step.what.name = "resample-mosaic";
  step.what.summary = "tiles of a mosaic grid at another resolution";
  step.what.about =
      "Each tile by itself: a Gaussian where it becomes smaller, then linear interpolation. Its pixels are the nearest "
      "whole "
      "number, and the voxel size that is written is what they truly have.";
  step.what.arguments = {{"MOSAIC", "mosaic grid", false},
                         {"RESAMPLED", "the mosaic grid to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("resolution_um", "10", "voxel size to resample to"),
      choice_option("align", {"half_pixel", "corners"},
                    "half_pixel: the areas of tiles lie on each other (scikit-image); corners: their outermost pixels "
                    "(SciPy's zoom)"),
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
  };
  step.what.example = "mosaic_grid_z00.ome.zarr mosaic_grid_z00_30um.ome.zarr --resolution-um 30";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

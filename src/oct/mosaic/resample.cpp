#include "oct/mosaic/resample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "oct/file/volume.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

/// A view of one tile inside a block.
TensorView place_in(std::vector<float>& block, const Region& region, std::uint64_t row, std::uint64_t col,
                    const Shape& tile) {
  const auto cols = static_cast<std::int64_t>(region[2].count), rows = static_cast<std::int64_t>(region[1].count);
  TensorView view;
  view.data = block.data() + row * region[2].count + col;
  view.dtype = DType::float32();
  view.shape = tile;
  view.strides_bytes = {4 * rows * cols, 4 * cols, 4};
  return view;
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
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  const auto make_block = [&](const Region& region, const Options& inner) -> Status {
    std::vector<float> block(region[0].count * region[1].count * region[2].count);
    for (std::uint64_t r = 0; r < region[1].count; r += to[1])
      for (std::uint64_t c = 0; c < region[2].count; c += to[2]) {
        const Region source = {{0, from[0], 1},
                               {(region[1].start + r) / to[1] * from[1], from[1], 1},
                               {(region[2].start + c) / to[2] * from[2], from[2], 1}};
        PENSTOCK_ASSIGN_IN(const Block tile, read_block(mosaic.array, source, inner), call.path(0));
        PENSTOCK_TRY(resample_tile(tile.values, from, call.text("align"), call.device,
                                   place_in(block, region, r, c, to), inner));
      }
    PENSTOCK_TRY_IN(write_block(out.array(), region, block, inner), call.path(1));
    return {};
  };
  std::uint64_t bytes = saturating_mul(4 * 4, saturating_mul(from[0], saturating_mul(from[1], from[2])));
  bytes = saturating_add(bytes, saturating_mul(4 * to[0], saturating_mul(out.objects()[1], out.objects()[2])));
  PENSTOCK_TRY(for_each_object(spec.shape, out.objects(), bytes, "oct resample-mosaic", call.options, make_block));
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
  const OpCall resize{"resize", fmt::format(R"({{"output_shape":[{},{},{}],"align":"{}"}})", out.shape[0], out.shape[1],
                                            out.shape[2], align)};
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
  };
  step.what.example = "mosaic_grid_z00.ome.zarr mosaic_grid_z00_30um.ome.zarr --resolution-um 30";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

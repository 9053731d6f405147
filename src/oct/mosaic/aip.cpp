#include "oct/mosaic/aip.hpp"

#include <fmt/format.h>

#include <cstring>

#include "oct/memory.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume mosaic, open_volume(call.path(0), 3));
  VolumeSpec spec;
  spec.shape = {mosaic.shape[1], mosaic.shape[2]};
  spec.chunks = {mosaic.chunks[1], mosaic.chunks[2]};
  spec.spacing_mm = {mosaic.spacing_mm[1], mosaic.spacing_mm[2]};
  spec.offset_mm = {mosaic.offset_mm[1], mosaic.offset_mm[2]};
  spec.levels = call.count("n_levels");
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  PENSTOCK_ASSIGN_IN(const std::vector<float> aip, average_projection(mosaic, call.device, call.options), call.path(0));
  PENSTOCK_TRY_IN(write_block(out.array(), whole(spec.shape), aip, call.options), call.path(1));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  double sum = 0;
  for (const float v : aip) sum += v;
  done.metrics.ran("mean over depth", call.device.name());
  const double mean = sum / static_cast<double>(std::max<std::size_t>(aip.size(), 1));
  done.metrics.add("mean", mean, "intensity", "mean of the projection");
  done.text = fmt::format("{}: {} x {} pixels, mean {:.4g}\n", call.path(1), spec.shape[0], spec.shape[1], mean);
  return done;
}

}  // namespace

Result<std::vector<float>> average_projection(const Volume& mosaic, Device device, const Options& options) {
  const std::size_t axis = 0;
  PENSTOCK_ASSIGN(const Tensor made,
                  reduce_array(mosaic.array, "mean", std::span(&axis, 1), device, what_is_left(options)));
  PENSTOCK_ASSIGN(const Tensor packed, made.contiguous());
  PENSTOCK_ASSIGN(const std::uint64_t count, packed.view().elements());
  if (packed.view().dtype != DType::float32()) return Error(ErrorCode::internal, "a mean of float32 is float32");
  std::vector<float> values(count);
  std::memcpy(values.data(), packed.view().data, count * sizeof(float));
  return values;
}

Step aip_step() {
  Step step;
  step.what.name = "aip";
  step.what.summary = "the average intensity projection of a mosaic grid";
  step.what.about = "The mean over depth of each tile; a chunk is a tile.";
  step.what.arguments = {{"MOSAIC", "mosaic grid", false}, {"AIP", "the projection to write, NAME.ome.zarr", true}};
  step.what.options = {count_option("n_levels", "5", "levels of the pyramid, each half of the one before")};
  step.what.example = "mosaic_grid_z00_illum.ome.zarr mosaic_grid_z00_aip.ome.zarr";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

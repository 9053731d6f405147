#include "oct/illumination/fix.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"
#include "oct/file/names.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/volume.hpp"
#include "oct/illumination/flat_field.hpp"
#include "oct/mosaic/aip.hpp"

namespace penstock::oct {
namespace {

/// Divides a block of whole tiles by the field.
void divide(const FlatField& field, Block& block) {
  const std::uint64_t rows = block.region[1].count, cols = block.region[2].count;
  for (std::uint64_t z = 0; z < block.region[0].count; ++z)
    for (std::uint64_t r = 0; r < rows; ++r) {
      const double* const f = field.values.data() + (block.region[1].start + r) % field.rows * field.cols;
      float* const line = block.values.data() + (z * rows + r) * cols;
      for (std::uint64_t c = 0; c < cols; ++c) {
        const float v = line[c] / static_cast<float>(f[(block.region[2].start + c) % field.cols]);
        line[c] = v > 0 ? v : 0;  // NaN too
      }
    }
}

Result<FlatField> make_field(const StepCall& call, const TileGrid& grid, const Image& projection) {
  if (call.text("method") == "overlap") return overlap_flat_field(projection, grid, call.options);
  return mean_flat_field(projection.values, grid, call.number("smoothness"), call.options);
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume mosaic, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(mosaic, call.path(0)));
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec_like(mosaic), call.force));
  PENSTOCK_ASSIGN_IN(std::vector<float> aip, average_projection(mosaic, call.device, call.options), call.path(0));
  PENSTOCK_ASSIGN_IN(const FlatField field, make_field(call, grid, {mosaic.shape[1], mosaic.shape[2], std::move(aip)}),
                     call.path(0));
  if (call.text("method") == "overlap" && field.pairs == 0)
    done.metrics.warn("no overlap of two tiles shows anything; the illumination is left as it is");
  std::uint64_t block_bytes = 4 * mosaic.shape[0];
  for (std::size_t d = 1; d < 3; ++d) block_bytes = saturating_mul(block_bytes, out.objects()[d]);
  const auto fix_block = [&](const Region& region, const Options& inner) -> Status {
    PENSTOCK_ASSIGN_IN(Block block, read_block(mosaic.array, region, inner), call.path(0));
    divide(field, block);
    PENSTOCK_TRY_IN(write_block(out.array(), region, block.values, inner), call.path(1));
    return {};
  };
  PENSTOCK_TRY(for_each_object(mosaic.shape, out.objects(), saturating_mul(block_bytes, 3), "oct fix-illumination",
                               call.options, fix_block));
  const std::string flat = stem_of(call.path(1)) + "_flatfield.npy";
  PENSTOCK_TRY(write_npy(flat, Shape{field.rows, field.cols}, field.values));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  const auto [least, most] = std::ranges::minmax(field.values);
  done.metrics.add("tiles", field.tiles, "tiles", "tiles that the flat field was made of");
  done.metrics.add("pairs", field.pairs, "pairs", "overlaps that the flat field was made of");
  done.metrics.add("flatfield_min", least, "", "least of the flat field, whose mean is 1");
  done.metrics.add("flatfield_max", most, "", "largest of the flat field");
  done.text = fmt::format("{}: flat field from {:.3f} to {:.3f} of {} tiles, in {}\n", call.path(1), least, most,
                          field.tiles, flat);
  return done;
}

}  // namespace

Step fix_illumination_step() {
  Step step;
  step.what.name = "fix-illumination";
  step.what.summary = "divide tiles by the flat field that they share";
  step.what.about =
      "overlap: the field is fitted to what neighbouring tiles disagree on where they show the same place; the "
      "logarithm of the "
      "field is a polynomial of the third degree. mean: the field is the mean of all tiles over depth, each scaled to "
      "mean 1, "
      "smoothed; what tiles show must average out, so it needs many. The field is written beside FIXED as "
      "NAME_flatfield.npy "
      "(rows, columns; mean 1).";
  step.what.arguments = {{"MOSAIC", "mosaic grid", false}, {"FIXED", "the mosaic grid to write, NAME.ome.zarr", true}};
  step.what.options = {
      choice_option("method", {"overlap", "mean"}, "what the field is made of"),
      number_option("smoothness", "0.15",
                    "mean: standard deviation of the Gaussian that smooths the field, as part of a tile's side")};
  step.what.example = "mosaic_grid_z00.ome.zarr mosaic_grid_z00_illum.ome.zarr";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

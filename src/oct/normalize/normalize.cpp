#include "oct/normalize/normalize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "exec/budget.hpp"
#include "oct/file/volume.hpp"
#include "oct/mosaic/aip.hpp"
#include "oct/normalize/tiles.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

StatisticsRequest percentile_of(double percentile) {
  StatisticsRequest request;
  request.percentiles = {percentile};
  return request;
}

Result<Statistics> statistics_of(std::vector<float>& values, const StatisticsRequest& request, const Options& options) {
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(values.data(), DType::float32(), {values.size()}));
  return statistics(view, request, options);
}

/// Planes [first, first + count) one after another.
Status for_each_plane(const Volume& slice, std::uint64_t at_once, const Options& options,
                      const std::function<Status(std::uint64_t, std::span<float>)>& visit,
                      const std::function<Status(const Region&, std::span<const float>)>& after) {
  const std::uint64_t pixels = slice.shape[1] * slice.shape[2];
  for (std::uint64_t first = 0; first < slice.shape[0]; first += at_once) {
    PENSTOCK_TRY(options.stop().check("oct normalize"));
    const std::uint64_t count = std::min(at_once, slice.shape[0] - first);
    PENSTOCK_ASSIGN(
        Block block,
        read_block(slice.array, {{first, count, 1}, {0, slice.shape[1], 1}, {0, slice.shape[2], 1}}, options));
    for (std::uint64_t z = 0; z < count; ++z)
      PENSTOCK_TRY(visit(first + z, std::span(block.values).subspan(z * pixels, pixels)));
    if (after) PENSTOCK_TRY(after(block.region, block.values));
  }
  return {};
}

/// From the median of the agarose to a percentile of the plane.
Result<PlaneRange> range_of_plane(std::span<const float> plane, const std::vector<std::uint8_t>& agarose,
                                  double percentile, const Options& options) {
  std::vector<float> all(plane.begin(), plane.end()), dark;
  for (std::size_t i = 0; i < plane.size(); ++i)
    if (agarose[i] != 0) dark.push_back(plane[i]);
  for (float& v : all)
    if (!std::isfinite(v)) v = 0;
  std::erase_if(dark, [](float v) { return !std::isfinite(v); });
  PENSTOCK_ASSIGN(const Statistics top, statistics_of(all, percentile_of(percentile), options));
  PlaneRange range{std::max(top.min, 0.0), top.percentiles[0]};
  if (!dark.empty()) {
    PENSTOCK_ASSIGN(const Statistics middle, statistics_of(dark, percentile_of(50), options));
    range.low = middle.percentiles[0];
  }
  range.high = std::max(range.high, range.low);
  return range;
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume slice, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const NormalizeOptions how, normalize_options(call));
  VolumeSpec spec;
  spec.shape = slice.shape;
  spec.chunks = slice.chunks;
  spec.spacing_mm = slice.spacing_mm;
  spec.offset_mm = slice.offset_mm;
  spec.levels = how.levels;
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  PENSTOCK_ASSIGN_IN(std::vector<float> projection, average_projection(slice, call.device, call.options), call.path(0));
  PENSTOCK_ASSIGN_IN(const std::vector<std::uint8_t> agarose,
                     agarose_columns(projection, slice.shape[1], slice.shape[2], how.sigma, call.options),
                     call.path(0));
  const std::uint64_t plane_bytes = std::max<std::uint64_t>(4 * slice.shape[1] * slice.shape[2], 1);
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(call.options, 4 * plane_bytes));
  const std::uint64_t at_once = std::clamp<std::uint64_t>(plan.budget_bytes / 2 / plane_bytes, 1, slice.chunks[0]);
  std::vector<PlaneRange> ranges;
  const auto measure = [&](std::uint64_t, std::span<float> values) -> Status {
    PENSTOCK_ASSIGN(const PlaneRange range, range_of_plane(values, agarose, how.percentile_max, call.options));
    ranges.push_back(range);
    return {};
  };
  PENSTOCK_TRY_IN(for_each_plane(slice, at_once, call.options, measure, {}), call.path(0));
  const std::vector<double> spans = spans_of(ranges, how.min_contrast_fraction);
  const auto scale = [&](std::uint64_t z, std::span<float> values) -> Status {
    const PlaneRange r = ranges[z];
    const double span = spans[z];
    for (float& v : values)
      v = span > 0 && v > r.low ? static_cast<float>((std::min<double>(v, r.high) - r.low) / span) : 0;
    return {};
  };
  const auto write = [&](const Region& region, std::span<const float> values) {
    return write_block(out.array(), region, values, call.options);
  };
  PENSTOCK_TRY_IN(for_each_plane(slice, at_once, call.options, scale, write), call.path(0));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  tell_normalized(ranges, agarose, done);
  return done;
}

}  // namespace

Step normalize_step() {
  Step step;
  step.what.name = "normalize";
  step.what.summary = "intensities of each plane between 0 and 1";
  step.what.about =
      "What is brighter than a percentile of its plane is cut off, the median of the agarose becomes 0, and the plane "
      "is "
      "divided by what is left, but by no less than a part of the largest of all planes. Agarose is what is darker "
      "than Otsu's "
      "threshold of the mean over depth.";
  step.what.arguments = {{"SLICE", "slice", false}, {"NORMALIZED", "the slice to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("percentile_max", "99.9", "of each plane, that is cut off at"),
      number_option("sigma", "1", "standard deviation of the Gaussian before agarose is told from tissue, in pixels"),
      number_option("min_contrast_fraction", "0.1",
                    "least part of the largest plane's range that a plane is divided by"),
      flag_option("tiles", "SLICE is a mosaic grid, and NORMALIZED is one too; runs as one with steps beside it"),
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
  };
  step.what.example = "slice_z00_crop.ome.zarr slice_z00_normalize.ome.zarr";
  step.run = run;
  step.tiles = normalize_tiles;
  return step;
}

}  // namespace penstock::oct

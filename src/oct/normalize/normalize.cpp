#include "oct/normalize/normalize.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "oct/kernels/run.hpp"
#include "oct/mosaic/aip.hpp"
#include "oct/normalize/plane_ranks.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

/// Columns of agarose: darker, smoothed, than Otsu's threshold of those that hold something.
Result<std::vector<std::uint8_t>> agarose_mask(const Volume& slice, double sigma, Device device,
                                               const Options& options) {
  PENSTOCK_ASSIGN(std::vector<float> mean, average_projection(slice, device, options));
  const OpCall smooth{"gaussian_filter", fmt::format(R"({{"sigma":{}}})", sigma)};
  PENSTOCK_ASSIGN(const TensorView view,
                  TensorView::packed(mean.data(), DType::float32(), {slice.shape[1], slice.shape[2]}));
  PENSTOCK_ASSIGN(const Tensor made, apply_operators(std::span(&smooth, 1), view, options));
  const auto* const smoothed = static_cast<const float*>(made.view().data);
  std::vector<float> there;
  for (std::size_t i = 0; i < mean.size(); ++i)
    if (mean[i] > 0) there.push_back(smoothed[i]);
  std::vector<std::uint8_t> mask(mean.size());
  if (there.empty()) return mask;
  StatisticsRequest otsu;
  otsu.otsu = true;
  PENSTOCK_ASSIGN(const TensorView values, TensorView::packed(there.data(), DType::float32(), {there.size()}));
  PENSTOCK_ASSIGN(const Statistics found, statistics(values, otsu, options));
  for (std::size_t i = 0; i < mean.size(); ++i) mask[i] = mean[i] > 0 && smoothed[i] < found.otsu.value_or(0) ? 1 : 0;
  return mask;
}

/// From the median of the agarose, or the least, to the percentile; divided by that, and by no less than a part of the
/// largest of all planes.
std::vector<PlaneRange> ranges_of(const std::vector<PlaneStatistics>& planes, double min_contrast_fraction) {
  std::vector<PlaneRange> ranges;
  double largest = 0;
  for (const PlaneStatistics& plane : planes) {
    PlaneRange range;
    range.low = plane.median.value_or(std::max(plane.least, 0.0));
    range.high = std::max(plane.percentile, range.low);
    largest = std::max(largest, range.high - range.low);
    ranges.push_back(range);
  }
  for (PlaneRange& range : ranges) range.span = std::max(range.high - range.low, min_contrast_fraction * largest);
  return ranges;
}

/// Brings all planes to their range.
Status scale_planes(const StepCall& call, const Volume& slice, const std::vector<PlaneRange>& ranges, NewVolume& out) {
  PENSTOCK_ASSIGN(const Place place, Place::make("oct normalize", call.device, call.options));
  PENSTOCK_ASSIGN(const auto there, uploaded(ranges.data(), ranges.size(), place.work()));
  PENSTOCK_TRY(place.work().stream.synchronize());
  Pass pass{"oct normalize", slice.shape, out.objects()};
  pass.make = [&](const Tile& in, const Tile& made, const Workspace& work) {
    const ScalePlanes scale{const_box(in.view), static_cast<float*>(made.view.data), there.data() + made.box[0].start};
    return run_kernel(scale, scale.in.elements(), work);
  };
  PENSTOCK_ASSIGN(const Source source, source_of(slice, call.path(0), call.device, call.options));
  return make_volume(source, pass, out, call.path(1), call.device, call.options);
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume slice, open_volume(call.path(0), 3));
  VolumeSpec spec;
  spec.shape = slice.shape;
  spec.chunks = slice.chunks;
  spec.spacing_mm = slice.spacing_mm;
  spec.offset_mm = slice.offset_mm;
  spec.levels = call.count("n_levels");
  const double percentile = call.number("percentile_max"), sigma = call.number("sigma");
  const double fraction = call.number("min_contrast_fraction");
  if (!(percentile > 0) || percentile > 100 || !(sigma >= 0) || sigma > 1000 || !(fraction >= 0) || fraction > 1)
    return Error(ErrorCode::invalid_argument,
                 "percentile_max lies between 0 and 100, sigma between 0 and 1000, min_contrast_fraction between 0 and "
                 "1");
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  PlaneRequest request{percentile, {}};
  PENSTOCK_ASSIGN_IN(request.columns, agarose_mask(slice, sigma, call.device, call.options), call.path(0));
  PENSTOCK_ASSIGN(const Options rest, without_held(call.options, request.columns.size(), "oct normalize"));
  PENSTOCK_ASSIGN(const auto planes, plane_statistics(slice, call.path(0), request, call.device, rest));
  const std::vector<PlaneRange> ranges = ranges_of(planes, fraction);
  PENSTOCK_TRY(scale_planes(call, slice, ranges, out));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  const auto columns = std::ranges::count(request.columns, 1);
  if (columns == 0) done.metrics.warn("no agarose was found; planes begin at their least value");
  done.metrics.ran("mean over depth", call.device.name());
  done.metrics.ran("percentiles of planes", call.device.name());
  done.metrics.ran("planes scaled", call.device.name());
  done.metrics.ran("agarose mask", Device().name());
  done.metrics.add("agarose_coverage",
                   static_cast<double>(columns) / static_cast<double>(std::max<std::size_t>(request.columns.size(), 1)),
                   "", "part of the columns that is agarose");
  Json low = Json::array(), high = Json::array();
  for (const PlaneRange& r : ranges) low.push_back(r.low), high.push_back(r.high);
  done.metrics.note("low", low, "intensity that becomes 0, of each plane");
  done.metrics.note("high", high, "intensity that is cut off at, of each plane");
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
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
  };
  step.what.example = "slice_z00_crop.ome.zarr slice_z00_normalize.ome.zarr";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

#include "oct/mosaic/aip_png.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/file/png.hpp"
#include "oct/file/small_file.hpp"
#include "oct/memory.hpp"
#include "oct/mosaic/aip.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kMaxSide = 1 << 24;

/// Between the two percentiles 0 to 65535, cut off beyond; all 0 where they are the same.
std::vector<std::uint16_t> in_16_bits(const std::vector<float>& values, double low, double high) {
  std::vector<std::uint16_t> out(values.size());
  for (std::size_t i = 0; i < values.size() && high > low; ++i) {
    const double v = std::clamp((values[i] - low) / (high - low), 0.0, 1.0);
    out[i] = std::isfinite(v) ? static_cast<std::uint16_t>(65535 * v) : std::uint16_t{0};
  }
  return out;
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  if (!call.path(1).ends_with(".png"))
    return Error(ErrorCode::invalid_argument, call.path(1) + ": the name must end in .png");
  PENSTOCK_ASSIGN(const bool there, small_exists(call.path(1)));
  if (there && !call.force)
    return Error(ErrorCode::already_exists, call.path(1) + ": already exists").set_hint("--force replaces it.");
  const double black = call.number("percentile_min"), white = call.number("percentile_max");
  if (!(black >= 0) || !(white <= 100) || !(black < white))
    return Error(ErrorCode::invalid_argument,
                 fmt::format("percentile_min {}, percentile_max {}: from 0 to 100, and the first is the smaller one",
                             black, white));
  PENSTOCK_ASSIGN(const Volume volume, open_volume(call.path(0), 3));
  if (volume.shape[1] == 0 || volume.shape[2] == 0 || std::max(volume.shape[1], volume.shape[2]) > kMaxSide)
    return Error(ErrorCode::unsupported,
                 fmt::format("{}: no picture has {} x {} pixels", call.path(0), volume.shape[1], volume.shape[2]));
  PENSTOCK_ASSIGN_IN(std::vector<float> aip, average_projection(volume, call.device, call.options), call.path(0));
  StatisticsRequest request;
  request.percentiles = {black, white};
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(aip.data(), DType::float32(), {aip.size()}));
  PENSTOCK_ASSIGN_IN(const Statistics made, statistics(view, request, on_host(call.options)), call.path(0));
  const double low = made.percentiles[0], high = made.percentiles[1];
  const auto width = static_cast<std::uint32_t>(volume.shape[2]), height = static_cast<std::uint32_t>(volume.shape[1]);
  PENSTOCK_ASSIGN(const std::string png, png_text(width, height, in_16_bits(aip, low, high)));
  PENSTOCK_TRY(write_small(call.path(1), as_bytes(png)));
  done.metrics.ran("mean over depth", call.device.name());
  done.metrics.add("black", low, "intensity", "of the value 0 in the picture");
  done.metrics.add("white", high, "intensity", "of the value 65535");
  done.text = fmt::format("{}: {} x {} pixels, black {:.4g}, white {:.4g}\n", call.path(1), width, height, low, high);
  return done;
}

}  // namespace

Step aip_png_step() {
  Step step;
  step.what.name = "aip-png";
  step.what.summary = "the average intensity projection as a picture";
  step.what.about =
      "The mean over depth of a mosaic grid, slice or volume, as a grey PNG of 16 bits, a pixel for each pixel.";
  step.what.arguments = {{"VOLUME", "mosaic grid, slice or volume", false},
                         {"PNG", "the picture to write, NAME.png", true}};
  step.what.options = {
      number_option("percentile_min", "0.1", "what lies below is black"),
      number_option("percentile_max", "99.9", "what lies above is white"),
  };
  step.what.example = "slice_z00_stitch.ome.zarr slice_z00.png";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

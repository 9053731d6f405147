#include "oct/interface/map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "exec/budget.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "oct/interface/kernel.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kMaxWidth = 1000;

InterfaceMapOptions options_of(const StepCall& call) {
  return {box_width(call), call.number("sigma_z"), !call.flag("no_log"), call.flag("compat"),
          call.flag("detect_cutting_errors")};
}

/// The steps of the mask are those of the slice.
Status check_mask(const Volume& mask, const Volume& slice) {
  if (mask.shape == slice.shape) return {};
  return Error(ErrorCode::invalid_metadata,
               fmt::format("it has shape {}, the slice {}", to_string(mask.shape), to_string(slice.shape)));
}

/// A slice, and the mask of what counts in it.
struct Masked {
  Volume slice;
  std::optional<Volume> mask;
  std::string slice_path, mask_path;
};

/// The interface of the rows [first, first + count), with the rows around them that the box reaches.
Result<std::vector<double>> map_of_rows(const Masked& in, const InterfaceMapOptions& how, std::uint64_t first,
                                        std::uint64_t count, const Tools& tools) {
  const std::uint64_t halo = how.width / 2, depth = in.slice.shape[0], cols = in.slice.shape[2];
  const std::uint64_t low = first - std::min(first, halo), high = std::min(first + count + halo, in.slice.shape[1]);
  const Region region = {{0, depth, 1}, {low, high - low, 1}, {0, cols, 1}};
  PENSTOCK_ASSIGN_IN(const Tensor band, in.slice.array.read(region, tools.options, tools.work.stream), in.slice_path);
  Tensor mask;
  if (in.mask) {
    PENSTOCK_ASSIGN_IN(mask, in.mask->array.read(region, tools.options, tools.work.stream), in.mask_path);
  }
  PENSTOCK_ASSIGN_IN(const std::vector<double> map, interface_map(band, how, tools, in.mask ? &mask : nullptr),
                     in.slice_path);
  const auto begin = map.begin() + static_cast<std::ptrdiff_t>((first - low) * cols);
  return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count * cols));
}

Result<std::vector<double>> map_of_slice(const Masked& in, const InterfaceMapOptions& how, Device device,
                                         const Options& options) {
  const std::uint64_t rows = in.slice.shape[1], halo = how.width / 2;
  // A band, its filtered form, what filters hold between, and the mask with what it holds.
  const std::uint64_t row_bytes = std::max<std::uint64_t>(8 * 4 * in.slice.shape[0] * in.slice.shape[2], 1);
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, (2 * halo + 1) * row_bytes));
  const std::uint64_t fit = std::max<std::uint64_t>(plan.budget_bytes / 2 / row_bytes, 2 * halo + 1) - 2 * halo;
  std::vector<double> map;
  const auto all_rows = [&](const Tools& tools) -> Status {
    for (std::uint64_t first = 0; first < rows; first += fit) {
      PENSTOCK_TRY(options.stop().check("oct tissue-interface"));
      PENSTOCK_ASSIGN(const std::vector<double> band, map_of_rows(in, how, first, std::min(fit, rows - first), tools));
      map.insert(map.end(), band.begin(), band.end());
    }
    return {};
  };
  Options inner = options;  // a band takes half of the budget, reading or filtering it the other
  inner.budget_bytes = std::max<std::uint64_t>(plan.budget_bytes / 2, 1);
  PENSTOCK_TRY(with_tools(device, "oct tissue-interface", inner, all_rows));
  return map;
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  if (!call.path(1).ends_with(".npy"))
    return Error(ErrorCode::invalid_argument, call.path(1) + ": the name must end in .npy");
  PENSTOCK_ASSIGN(const bool there, small_exists(call.path(1)));
  if (there && !call.force)
    return Error(ErrorCode::already_exists, call.path(1) + ": already exists").set_hint("--force replaces it.");
  const InterfaceMapOptions how = options_of(call);
  PENSTOCK_TRY(how.check());
  PENSTOCK_ASSIGN(Volume slice, open_volume(call.path(0), 3));
  Masked in{std::move(slice), {}, call.path(0), {}};
  if (call.given("mask")) {
    in.mask_path = call.text("mask");
    PENSTOCK_ASSIGN(in.mask, open_volume(in.mask_path, 3));
    PENSTOCK_TRY_IN(check_mask(*in.mask, in.slice), in.mask_path);
  }
  PENSTOCK_ASSIGN(const std::vector<double> map, map_of_slice(in, how, call.device, call.options));
  PENSTOCK_TRY(write_npy(call.path(1), Shape{in.slice.shape[1], in.slice.shape[2]}, map));
  double sum = 0;
  for (const double v : map) sum += v / static_cast<double>(map.size());
  done.metrics.add("mean_depth", sum, "planes", "mean of the interface");
  done.metrics.ran("filters and steepest rise", call.device.name());
  done.text = fmt::format("{}: {} x {} columns, mean depth {:.2f} planes\n", call.path(1), in.slice.shape[1],
                          in.slice.shape[2], sum);
  return done;
}

/// Weights of the derivative of a Gaussian, as gaussian_filter1d has them.
std::vector<double> derivative_weights(double sigma, std::int64_t radius) {
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t j = -radius; j <= radius; ++j) {
    const auto x = static_cast<double>(j);
    weights.push_back(std::exp(-0.5 * x * x / (sigma * sigma)));
    sum += weights.back();
  }
  for (std::int64_t j = -radius; j <= radius; ++j)
    weights[static_cast<std::size_t>(j + radius)] *= static_cast<double>(j) / (sigma * sigma) / sum;
  return weights;
}

Result<Tensor> rise_in_mask(const Tensor& elements, const Tensor& mask, const InterfaceMapOptions& how,
                            const Tools& tools) {
  const Shape& shape = elements.view().shape;
  const auto radius = static_cast<std::int64_t>(4 * how.sigma_z + 0.5);
  const std::vector<double> weights = derivative_weights(how.sigma_z, radius);
  PENSTOCK_ASSIGN(const Numbers<double> there, Numbers<double>::make(std::span<const double>(weights), tools.work));
  PENSTOCK_ASSIGN(const Numbers<float> held, Numbers<float>::make(shape[0] * shape[1] * shape[2], tools.work));
  PENSTOCK_ASSIGN(Tensor rise, Tensor::empty(DType::float32(), shape, tools.work.stream, tools.options.memory));
  const float outside = how.compat ? 0.0F : -std::numeric_limits<float>::infinity();
  const interface::MaskedRise work{static_cast<const float*>(elements.view().data),
                                   static_cast<const float*>(mask.view().data),
                                   there.at(),
                                   radius,
                                   shape[0],
                                   shape[1] * shape[2],
                                   outside,
                                   held.at(),
                                   static_cast<float*>(rise.view().data)};
  PENSTOCK_TRY(run_work(work, shape[1] * shape[2], tools.work, 64));
  return rise;
}

/// Smoothed along depth, or its derivative.
Result<Tensor> along_depth(const Tensor& elements, const InterfaceMapOptions& how, int order, const Tools& tools) {
  const OpCall call{"gaussian_filter1d", fmt::format(R"({{"sigma":{},"axis":0,"order":{}}})", how.sigma_z, order)};
  return apply_operators(std::span(&call, 1), elements.view(), tools.options);
}

}  // namespace

std::uint64_t box_width(const StepCall& call) {
  return static_cast<std::uint64_t>(std::clamp(call.number("sigma_xy"), 0.0, 1e6));
}

Status InterfaceMapOptions::check() const {
  if (!(sigma_z > 0) || sigma_z > 1000 || width > kMaxWidth)
    return Error(ErrorCode::invalid_argument, "sigma_z lies above 0, it and sigma_xy at 1000 at most");
  return {};
}

Result<std::vector<double>> interface_map(const Tensor& elements, const InterfaceMapOptions& how, const Tools& tools,
                                          const Tensor* mask) {
  PENSTOCK_TRY(how.check());
  const Shape& shape = elements.view().shape;
  const std::uint64_t pixels = shape[1] * shape[2], count = shape[0] * pixels;
  if (shape[0] == 0) return Error(ErrorCode::invalid_argument, "it has no planes");
  Tensor now = elements;
  if (how.logarithm) {
    PENSTOCK_ASSIGN(now, Tensor::empty(DType::float32(), shape, tools.work.stream, tools.options.memory));
    PENSTOCK_TRY(copy_elements(elements.view(), now.view()));
    PENSTOCK_TRY(run_work(interface::LogPositive{static_cast<float*>(now.view().data)}, count, tools.work));
  }
  if (how.width > 1) {
    const OpCall average{"uniform_filter", fmt::format(R"({{"size":[1,{0},{0}]}})", how.width)};
    PENSTOCK_ASSIGN(now, apply_operators(std::span(&average, 1), now.view(), tools.options));
  }
  Tensor rise;
  if (mask != nullptr) {
    PENSTOCK_ASSIGN(rise, rise_in_mask(now, *mask, how, tools));
  } else {
    PENSTOCK_ASSIGN(rise, along_depth(now, how, 1, tools));
  }
  const auto peaks_of = [&](const Tensor& values, bool absolute) -> Result<std::vector<double>> {
    PENSTOCK_ASSIGN(const Numbers<double> map, Numbers<double>::make(pixels, tools.work));
    const double half_sigma = absolute ? 0 : 0.5 * how.sigma_z;
    PENSTOCK_TRY(run_lanes(interface::Steepest{static_cast<const float*>(values.view().data), shape[0], pixels,
                                               how.compat, half_sigma, absolute, map.at()},
                           tools.work));
    return map.get(pixels, tools.work);
  };
  PENSTOCK_ASSIGN(std::vector<double> map, peaks_of(rise, false));
  if (how.cutting_errors) {
    PENSTOCK_ASSIGN(const Tensor smooth, along_depth(now, how, 0, tools));
    PENSTOCK_ASSIGN(const std::vector<double> brightest, peaks_of(smooth, true));
    for (std::size_t i = 0; i < map.size(); ++i) map[i] = std::min(map[i], brightest[i]);
  }
  return map;
}

Step tissue_interface_step() {
  Step step;
  step.what.name = "tissue-interface";
  step.what.summary = "where tissue begins, of each column";
  step.what.about =
      "Columns are averaged over a box; the interface is where the logarithm of the intensity rises most steeply with "
      "depth, to a fraction of a plane. MAP is (rows, columns), float64, in planes.";
  step.what.arguments = {{"SLICE", "slice or mosaic grid", false}, {"MAP", "the map to write, NAME.npy", true}};
  step.what.options = {
      number_option("sigma_xy", "15", "width of the box in pixels, fractions cut off; 0 and 1: none"),
      number_option("sigma_z", "2", "standard deviation of the Gaussian along depth, in planes"),
      flag_option("no_log", "take the intensity itself, not its logarithm"),
      optional_path_option("mask", "a volume of the slice's shape: only elements where it is above 0 count"),
      flag_option("detect_cutting_errors", "where the smoothed intensity is largest above the interface, it is there"),
      flag_option("compat", "whole planes, as linumpy has them: the steepest rise plus half of sigma_z, rounded up"),
  };
  step.what.example = "slice_z00_stitch.ome.zarr slice_z00_interface.npy";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

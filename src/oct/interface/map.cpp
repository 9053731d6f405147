#include "oct/interface/map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "oct/kernels/run.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kMaxWidth = 1000;

std::uint64_t elements_of(const Shape& shape) { return saturating_mul(shape[0], saturating_mul(shape[1], shape[2])); }

/// What columns go through before their steepest rise is looked for.
std::vector<OpCall> averaging(const InterfaceMapOptions& how) {
  if (how.width <= 1) return {};
  return {{"uniform_filter", fmt::format(R"({{"size":[1,{0},{0}]}})", how.width)}};
}
std::vector<OpCall> along_depth(const InterfaceMapOptions& how, int order) {
  return {{"gaussian_filter1d", fmt::format(R"({{"sigma":{},"axis":0,"order":{}}})", how.sigma_z, order)}};
}

/// Weights whose products with neighbours are the derivative of a Gaussian; 2 * radius + 1.
std::vector<double> derivative_weights(double sigma) {
  const auto radius = static_cast<std::int64_t>(4 * sigma + 0.5);
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t k = -radius; k <= radius; ++k) {
    const auto x = static_cast<double>(k);
    weights.push_back(std::exp(-x * x / (2 * sigma * sigma)));
    sum += weights.back();
  }
  for (std::int64_t k = -radius; k <= radius; ++k)
    weights[static_cast<std::size_t>(k + radius)] *= static_cast<double>(k) / (sigma * sigma) / sum;
  return weights;
}

/// The steepest rise among what a mask holds, into `rise`.
Status rise_within(const TensorView& averaged, const TensorView& mask, double sigma, float* rise,
                   const Workspace& work) {
  const std::vector<double> weights = derivative_weights(sigma);
  PENSTOCK_ASSIGN(const auto there, uploaded(weights.data(), weights.size(), work));
  const ConstBox box = const_box(averaged);
  PENSTOCK_ASSIGN(const auto held, hold<float>(box.elements(), work));
  const MaskedCorrelation job{box, const_box(mask), there.data(), weights.size() / 2, held.data(), rise};
  return run_kernel(job, box.columns(), work);
}

/// The interface of columns that were cut wrongly lies where they are brightest, if that is above it.
Status lift_to_brightest(const TensorView& averaged, const InterfaceMapOptions& how, double* map,
                         const Workspace& work) {
  const ConstBox box = const_box(averaged);
  PENSTOCK_ASSIGN(const auto smooth, hold<float>(box.elements(), work));
  PENSTOCK_TRY(apply_here(along_depth(how, 0), averaged, smooth.data(), work));
  PENSTOCK_ASSIGN(const TensorView view,
                  TensorView::packed(smooth.data(), DType::float32(), averaged.shape, work.stream));
  ColumnPeak peak{const_box(view), map, how.compat, true};
  peak.keep_less = true;
  return run_kernel(peak, box.columns(), work);
}

}  // namespace

Status check(const InterfaceMapOptions& how) {
  if (!(how.sigma_z > 0) || how.sigma_z > 1000 || how.width > kMaxWidth)
    return Error(ErrorCode::invalid_argument, "sigma_z lies above 0, it and sigma_xy at 1000 at most");
  return {};
}

Result<std::uint64_t> map_interface_bytes(const InterfaceMapOptions& how, const Shape& shape, bool masked) {
  const std::uint64_t box = saturating_mul(4, elements_of(shape));
  PENSTOCK_ASSIGN(const std::uint64_t averages, apply_bytes(averaging(how), shape));
  PENSTOCK_ASSIGN(const std::uint64_t filters, apply_bytes(along_depth(how, 1), shape));
  // The logarithm, the averages, the rise or what is smoothed; of a mask what it holds; the map.
  return saturating_add(saturating_mul(masked ? 4 : 3, box), std::max(averages, filters) + 8 * shape[1] * shape[2]);
}

Status map_interface(const TensorView& box, const std::optional<TensorView>& mask, const InterfaceMapOptions& how,
                     double* map, const Workspace& work) {
  const std::uint64_t elements = elements_of(box.shape), columns = box.shape[1] * box.shape[2];
  if (elements == 0) return Error(ErrorCode::invalid_argument, "it has no planes");
  TensorView from = box;
  Held<float> logs, averages;
  if (how.logarithm) {
    PENSTOCK_ASSIGN(logs, hold<float>(elements, work));
    PENSTOCK_TRY(run_kernel(LogOfPositive{const_box(box), logs.data()}, elements, work));
    PENSTOCK_ASSIGN(from, TensorView::packed(logs.data(), DType::float32(), box.shape, work.stream));
  }
  if (how.width > 1) {
    PENSTOCK_ASSIGN(averages, hold<float>(elements, work));
    PENSTOCK_TRY(apply_here(averaging(how), from, averages.data(), work));
    PENSTOCK_ASSIGN(from, TensorView::packed(averages.data(), DType::float32(), box.shape, work.stream));
  }
  {
    PENSTOCK_ASSIGN(const auto rise, hold<float>(elements, work));
    if (mask)
      PENSTOCK_TRY(rise_within(from, *mask, how.sigma_z, rise.data(), work));
    else
      PENSTOCK_TRY(apply_here(along_depth(how, 1), from, rise.data(), work));
    PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(rise.data(), DType::float32(), box.shape, work.stream));
    ColumnPeak peak{const_box(view), map, how.compat, false};
    peak.add = how.compat ? 0.5 * how.sigma_z : 0;
    PENSTOCK_TRY(run_kernel(peak, columns, work));
  }
  return how.cutting_errors ? lift_to_brightest(from, how, map, work) : Status();
}

}  // namespace penstock::oct

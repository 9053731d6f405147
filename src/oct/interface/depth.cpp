#include "oct/interface/depth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "exec/budget.hpp"
#include "oct/interface/kernel.hpp"
#include "oct/mosaic/aip.hpp"
#include "oct/tiles/kernel.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

/// The 5th percentile of what is above 0; below all where nothing is.
Result<double> bright_threshold(const std::vector<float>& projection, const Options& options) {
  std::vector<float> positive;
  for (const float v : projection)
    if (v > 0) positive.push_back(v);
  if (positive.empty()) return -1.0;
  StatisticsRequest request;
  request.percentiles = {5};
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(positive.data(), DType::float32(), {positive.size()}));
  PENSTOCK_ASSIGN(const Statistics made, statistics(view, request, on_host(options)));
  return made.percentiles[0];
}

/// The rows [first, first + count) of a slice, with the rows around them that filters reach.
Result<std::vector<double>> rise_of_rows(const Volume& slice, const RiseSearch& search,
                                         const std::vector<std::uint8_t>& bright, std::uint64_t first,
                                         std::uint64_t count, const Tools& tools) {
  const std::uint64_t depth = slice.shape[0], cols = slice.shape[2], pad = search.pad_planes();
  const std::uint64_t low = first - std::min(first, search.halo_rows());
  const std::uint64_t high = std::min(first + count + search.halo_rows(), slice.shape[1]);
  PENSTOCK_ASSIGN(const Tensor padded, Tensor::empty(DType::float32(), {pad + depth, high - low, cols},
                                                     tools.work.stream, tools.options.memory));
  PENSTOCK_ASSIGN(const Tensor inner, padded.slice({Slice{static_cast<std::int64_t>(pad), {}, {}}}));
  PENSTOCK_TRY(slice.array.read({{0, depth, 1}, {low, high - low, 1}, {0, cols, 1}}, inner.view(), tools.options));
  std::vector<std::uint8_t> here((high - low) * cols);  // none of the rows around
  std::copy_n(bright.begin() + static_cast<std::ptrdiff_t>(first * cols), count * cols,
              here.begin() + static_cast<std::ptrdiff_t>((first - low) * cols));
  return search.rise(padded, here, tools);
}

}  // namespace

double peak_near(const std::vector<double>& values, std::size_t at) {
  if (at == 0 || at + 1 >= values.size()) return static_cast<double>(at);
  const double before = values[at - 1], here = values[at], after = values[at + 1];
  const double curve = before - 2 * here + after;
  return static_cast<double>(at) + (curve < 0 ? 0.5 * (before - after) / curve : 0);
}

Result<RiseSearch> RiseSearch::make(const InterfaceOptions& how, std::uint64_t depth) {
  if (!(how.sigma_xy >= 0) || !(how.sigma_z > 0) || how.sigma_xy > 1000 || how.sigma_z > 1000)
    return Error(ErrorCode::invalid_argument, "sigma_z must be above 0 and sigma_xy not below, both at most 1000");
  RiseSearch search;
  search.depth_ = depth;
  search.logarithm_ = how.logarithm;
  search.pad_ = static_cast<std::uint64_t>(std::nearbyint(4 * how.sigma_z));
  search.halo_ = static_cast<std::uint64_t>(4 * how.sigma_xy + 0.5);
  search.calls_ = {{"gaussian_filter",
                    fmt::format(R"({{"sigma":[{},{},{}],"order":[1,0,0]}})", how.sigma_z, how.sigma_xy, how.sigma_xy)}};
  return search;
}

void RiseSearch::limit(double intensity) {
  if (logarithm_ && intensity > 0) intensity = std::log(intensity);
  calls_.insert(calls_.begin(), {"clip", fmt::format(R"({{"max":{}}})", intensity)});
}

Result<std::vector<double>> RiseSearch::rise(const Tensor& padded, const std::vector<std::uint8_t>& bright,
                                             const Tools& tools) const {
  PENSTOCK_ASSIGN(const Tensor first, padded.slice({static_cast<std::int64_t>(pad_)}));
  for (std::uint64_t p = 0; p < pad_; ++p) {
    PENSTOCK_ASSIGN(const Tensor to, padded.slice({static_cast<std::int64_t>(p)}));
    PENSTOCK_TRY(copy_elements(first.view(), to.view()));
  }
  if (logarithm_) {
    PENSTOCK_ASSIGN(const std::uint64_t elements, padded.view().elements());
    PENSTOCK_TRY(run_work(interface::LogPositive{static_cast<float*>(padded.view().data)}, elements, tools.work));
  }
  PENSTOCK_ASSIGN(const Tensor made, apply_operators(calls_, padded.view(), tools.options));
  PENSTOCK_ASSIGN(const Numbers<std::uint8_t> mask,
                  Numbers<std::uint8_t>::make(std::span<const std::uint8_t>(bright), tools.work));
  PENSTOCK_ASSIGN(const Numbers<double> sums, Numbers<double>::make(depth_ * tiles::kLanes, tools.work));
  const auto* const values = static_cast<const float*>(made.view().data) + pad_ * bright.size();
  PENSTOCK_TRY(run_work(tiles::PlaneSums{values, mask.at(), bright.size(), sums.at()}, depth_ * tiles::kLanes,
                        tools.work, tiles::kLanes));
  PENSTOCK_ASSIGN(const std::vector<double> parts, sums.get(depth_ * tiles::kLanes, tools.work));
  std::vector<double> rise(depth_);
  for (std::size_t i = 0; i < parts.size(); ++i) rise[i / tiles::kLanes] += parts[i];
  return rise;
}

Result<Interface> RiseSearch::steepest(const std::vector<double>& rise) {
  const auto most = std::ranges::max_element(rise);
  if (most == rise.end()) return Error(ErrorCode::invalid_argument, "the slice has no planes");
  const auto plane = static_cast<std::uint64_t>(most - rise.begin());
  Interface found{peak_near(rise, plane), plane};
  // Where intensity nowhere rises as steeply as it falls, tissue was there from the first plane on.
  found.no_rise = !(*most > -std::ranges::min(rise));
  return found;
}

Result<std::vector<std::uint8_t>> bright_columns(const std::vector<float>& projection, const Options& options) {
  PENSTOCK_ASSIGN(const double threshold, bright_threshold(projection, options));
  std::vector<std::uint8_t> bright(projection.size());
  for (std::size_t i = 0; i < projection.size(); ++i)
    bright[i] = static_cast<double>(projection[i]) > threshold ? 1 : 0;
  // Where all columns are alike, as in a slice of agarose only, none is above.
  if (std::ranges::find(bright, std::uint8_t{1}) == bright.end())
    for (std::size_t i = 0; i < projection.size(); ++i)
      bright[i] = static_cast<double>(projection[i]) >= threshold ? 1 : 0;
  return bright;
}

Result<Interface> find_interface(const Volume& slice, const InterfaceOptions& how, Device device,
                                 const Options& options) {
  PENSTOCK_ASSIGN(RiseSearch search, RiseSearch::make(how, slice.shape[0]));
  if (how.percentile_max) {
    StatisticsRequest request;
    request.percentiles = {*how.percentile_max};
    PENSTOCK_ASSIGN(const Statistics made, statistics(slice.array, request, device, options));
    if (made.nans > 0)
      return Error(ErrorCode::invalid_argument,
                   fmt::format("{} elements are no numbers, so there is no percentile_max", made.nans));
    search.limit(made.percentiles[0]);
  }
  PENSTOCK_ASSIGN(const std::vector<float> projection, average_projection(slice, device, options));
  PENSTOCK_ASSIGN(const std::vector<std::uint8_t> bright, bright_columns(projection, options));
  // A band, its filtered form and what the operators hold between: about four times its elements.
  const std::uint64_t row_bytes = 4 * 4 * (slice.shape[0] + search.pad_planes()) * slice.shape[2];
  const std::uint64_t around = 2 * search.halo_rows();
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, (around + 1) * row_bytes));
  const std::uint64_t rows = std::max<std::uint64_t>(plan.budget_bytes / 2 / row_bytes, around + 1) - around;
  std::vector<double> rise(slice.shape[0]);
  const auto all_rows = [&](const Tools& tools) -> Status {
    for (std::uint64_t first = 0; first < slice.shape[1]; first += rows) {
      PENSTOCK_TRY(options.stop().check("oct crop-below-interface"));
      const std::uint64_t count = std::min(rows, slice.shape[1] - first);
      PENSTOCK_ASSIGN(const std::vector<double> part, rise_of_rows(slice, search, bright, first, count, tools));
      for (std::size_t z = 0; z < part.size(); ++z) rise[z] += part[z];
    }
    return {};
  };
  Options inner = options;  // a band takes half of the budget, reading or filtering it the other
  inner.budget_bytes = std::max<std::uint64_t>(plan.budget_bytes / 2, 1);
  PENSTOCK_TRY(with_tools(device, "oct crop-below-interface", inner, all_rows));
  return RiseSearch::steepest(rise);
}

}  // namespace penstock::oct

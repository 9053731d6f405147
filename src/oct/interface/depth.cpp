#include "oct/interface/depth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "exec/budget.hpp"
#include "oct/mosaic/aip.hpp"
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
  PENSTOCK_ASSIGN(const Statistics made, statistics(view, request, options));
  return made.percentiles[0];
}

/// A search over bands of rows.
struct Search {
  const Volume& slice;
  std::vector<OpCall> calls;
  std::uint64_t pad = 0;   ///< planes in front, copies of the first
  std::uint64_t halo = 0;  ///< rows around a band that its filters reach
  std::vector<float> projection;
  double threshold = 0;
  std::vector<double> rise;  ///< of each plane, summed over columns

  /// Adds the rows [first, first + count).
  Status add(std::uint64_t first, std::uint64_t count, const Stream& stream, const Options& options) {
    const std::uint64_t depth = slice.shape[0], cols = slice.shape[2];
    const std::uint64_t low = first - std::min(first, halo), high = std::min(first + count + halo, slice.shape[1]);
    PENSTOCK_ASSIGN(const Tensor padded, Tensor::empty(DType::float32(), {pad + depth, high - low, cols}, stream));
    PENSTOCK_ASSIGN(const Tensor inner, padded.slice({Slice{static_cast<std::int64_t>(pad), {}, {}}}));
    PENSTOCK_TRY(slice.array.read({{0, depth, 1}, {low, high - low, 1}, {0, cols, 1}}, inner.view(), options));
    for (std::uint64_t p = 0; p < pad; ++p) {
      PENSTOCK_ASSIGN(const Tensor from, inner.slice({std::int64_t{0}}));
      PENSTOCK_ASSIGN(const Tensor to, padded.slice({static_cast<std::int64_t>(p)}));
      PENSTOCK_TRY(copy_elements(from.view(), to.view()));
    }
    PENSTOCK_ASSIGN(const Tensor made, apply_operators(calls, padded.view(), options));
    PENSTOCK_ASSIGN(const Tensor host, made.to(Stream()));
    const auto* const values = static_cast<const float*>(host.view().data);
    for (std::uint64_t z = 0; z < depth; ++z) {
      double sum = 0;
      for (std::uint64_t r = first; r < first + count; ++r) {
        const float* const line = values + ((z + pad) * (high - low) + (r - low)) * cols;
        const float* const bright = projection.data() + r * cols;
        for (std::uint64_t c = 0; c < cols; ++c)
          if (bright[c] > threshold && std::isfinite(line[c])) sum += line[c];
      }
      rise[z] += sum;
    }
    return {};
  }
};

}  // namespace

double peak_near(const std::vector<double>& values, std::size_t at) {
  if (at == 0 || at + 1 >= values.size()) return static_cast<double>(at);
  const double before = values[at - 1], here = values[at], after = values[at + 1];
  const double curve = before - 2 * here + after;
  return static_cast<double>(at) + (curve < 0 ? 0.5 * (before - after) / curve : 0);
}

Result<Interface> find_interface(const Volume& slice, const InterfaceOptions& how, Device device,
                                 const Options& options) {
  if (!(how.sigma_xy >= 0) || !(how.sigma_z > 0) || how.sigma_xy > 1000 || how.sigma_z > 1000)
    return Error(ErrorCode::invalid_argument, "sigma_z must be above 0 and sigma_xy not below, both at most 1000");
  Search search{slice,
                {},
                static_cast<std::uint64_t>(std::nearbyint(4 * how.sigma_z)),
                static_cast<std::uint64_t>(4 * how.sigma_xy + 0.5),
                {},
                0,
                std::vector<double>(slice.shape[0])};
  if (how.percentile_max) {
    StatisticsRequest request;
    request.percentiles = {*how.percentile_max};
    PENSTOCK_ASSIGN(const Statistics made, statistics(slice.array, request, device, options));
    search.calls.push_back({"clip", fmt::format(R"({{"max":{}}})", made.percentiles[0])});
  }
  search.calls.push_back({"gaussian_filter", fmt::format(R"({{"sigma":[{},{},{}],"order":[1,0,0]}})", how.sigma_z,
                                                         how.sigma_xy, how.sigma_xy)});
  PENSTOCK_ASSIGN(search.projection, average_projection(slice, device, options));
  PENSTOCK_ASSIGN(search.threshold, bright_threshold(search.projection, options));
  Stream stream;
  if (device.type != Device::Type::cpu) {
    PENSTOCK_ASSIGN(stream, Stream::create(device));
  }
  // A band, its filtered form and what the operators hold between: about four times its elements.
  const std::uint64_t row_bytes = 4 * 4 * (slice.shape[0] + search.pad) * slice.shape[2];
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, (2 * search.halo + 1) * row_bytes));
  const std::uint64_t rows =
      std::max<std::uint64_t>(plan.budget_bytes / 2 / row_bytes, 2 * search.halo + 1) - 2 * search.halo;
  for (std::uint64_t first = 0; first < slice.shape[1]; first += rows) {
    PENSTOCK_TRY(options.stop().check("oct crop-below-interface"));
    PENSTOCK_TRY(search.add(first, std::min(rows, slice.shape[1] - first), stream, options));
  }
  Interface found;
  const auto steepest = std::ranges::max_element(search.rise);
  if (steepest == search.rise.end()) return Error(ErrorCode::invalid_argument, "the slice has no planes");
  found.plane = static_cast<std::uint64_t>(steepest - search.rise.begin());
  found.depth = peak_near(search.rise, found.plane);
  return found;
}

}  // namespace penstock::oct

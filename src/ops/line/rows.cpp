#include "ops/line/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/common.hpp"
#include "ops/element/element.hpp"
#include "ops/line/box.hpp"
#include "ops/line/line.hpp"
#include "ops/line/spline.hpp"

namespace penstock::line {
namespace {

using Axes = FilterArguments::Axes;

constexpr std::int64_t kMaxTaps = 1 << 24;  // more than any image has; see op.cpp

Error bad(std::string message) { return bad_argument(std::move(message)); }

/// Whether every value of one type is one of the other.
bool holds(const DType& from, const DType& to) {
  if (from == to || from.kind == Kind::boolean) return true;
  const std::uint32_t a = from.size_bytes, b = to.size_bytes;
  if (to.kind == Kind::floating) return from.kind == Kind::floating ? a <= b : a < b && a <= 4;
  if (to.kind == Kind::signed_int) return from.kind != Kind::floating && a < b;
  return to.kind == Kind::unsigned_int && from.kind == Kind::unsigned_int && a < b;
}

/// Filters one after the other.  As in scipy what each of them makes is of the output's type.
Status add_filters(Chain& chain, std::vector<Filter> filters, const DType& output, bool in_double) {
  using element::make_cast;
  const DType input = chain.output().dtype;
  const bool orders =
      !filters.empty() && (filters[0].operation == Operation::minimum || filters[0].operation == Operation::maximum);
  const auto add = [&](Filter& filter, bool exact) -> Status {
    filter.compute = orders ? Compute::element : compute_for(chain.output().dtype, in_double || exact);
    PENSTOCK_ASSIGN(auto op, make_filter(chain.output(), std::move(filter)));
    chain.add(std::move(op));
    return {};
  };
  std::size_t next = 0;
  if (holds(input, output)) {
    if (input != output) chain.add(make_cast(chain.output(), output, Rounding::truncate));
    if (auto box = make_box(chain.output(), filters)) {
      chain.add(std::move(box));
      return {};
    }
  } else {
    // What the first makes is cut to the output's type, not what it is made of.
    if (!filters.empty()) {
      if (!orders && input.kind != Kind::floating)
        chain.add(make_cast(chain.output(), DType::float64(), Rounding::truncate));
      PENSTOCK_TRY(add(filters[next++], false));
    }
    chain.add(make_cast(chain.output(), output, Rounding::truncate));
  }
  for (; next < filters.size(); ++next) {
    // Whole numbers are computed so that whole-number weights give what scipy's double gives.
    const bool whole = output.kind != Kind::floating;
    const bool exact = whole && std::ranges::all_of(filters[next].weights, [](double w) { return w == std::floor(w); });
    PENSTOCK_TRY(add(filters[next], exact));
  }
  return {};
}

/// The filter of one axis, centred; `origin` moves it.
Result<Filter> make(const FilterArguments& common, std::size_t i, Operation operation, std::int64_t taps,
                    std::int64_t origin) {
  Filter f;
  PENSTOCK_ASSIGN(f.before, window_start(taps, origin, common.axes[i]));
  f.operation = operation;
  f.axis = common.axes[i];
  f.taps = static_cast<std::uint32_t>(taps);
  f.border = common.borders[i];
  f.constant = common.constant;
  return f;
}

/// Radius of a Gaussian's weights.  Errors: invalid_argument.
Result<std::int64_t> gaussian_radius(double sigma, double truncate, std::optional<std::int64_t> radius) {
  if (sigma < 0) return bad(fmt::format("sigma {} is negative", sigma));
  if (truncate < 0) return bad(fmt::format("truncate {} is negative", truncate));
  if (radius) {
    if (*radius < 0) return bad(fmt::format("radius {} is negative", *radius));
    return *radius;
  }
  const double reach = truncate * sigma + 0.5;
  if (reach > static_cast<double>(kMaxTaps) / 2) return bad(fmt::format("sigma {} is too large", sigma));
  return static_cast<std::int64_t>(reach);
}

Result<Filter> gaussian(const FilterArguments& common, std::size_t i, double sigma, std::int64_t order, double truncate,
                        std::optional<std::int64_t> radius) {
  if (order < 0) return bad(fmt::format("order {} is negative", order));
  if (order > 32) return bad(fmt::format("order {}: at most 32", order));
  PENSTOCK_ASSIGN(const std::int64_t reach, gaussian_radius(sigma, truncate, radius));
  PENSTOCK_ASSIGN(Filter filter, make(common, i, Operation::correlate, 2 * reach + 1, 0));
  filter.weights = gaussian_weights(sigma, static_cast<int>(order), reach);
  return filter;
}

Status add_gaussians(Chain& chain, Arguments& arguments, bool one_axis) {
  PENSTOCK_ASSIGN(const FilterArguments common,
                  FilterArguments::read(chain, arguments, one_axis ? Axes::one : Axes::some));
  const std::size_t n = common.axes.size();
  PENSTOCK_ASSIGN(const auto sigmas, arguments.number_each("sigma", n, std::nullopt));
  PENSTOCK_ASSIGN(const auto orders, arguments.integer_each("order", n, 0));
  PENSTOCK_ASSIGN(const double truncate, arguments.number("truncate", 4.0));
  std::vector<std::optional<std::int64_t>> radii(n);
  if (arguments.given("radius")) {
    PENSTOCK_ASSIGN(const auto values, arguments.integer_each("radius", n, std::nullopt));
    std::ranges::copy(values, radii.begin());
  } else {
    PENSTOCK_TRY(arguments.integer_each("radius", n, 0));
  }
  std::vector<Filter> filters;
  for (std::size_t i = 0; i < n; ++i) {
    PENSTOCK_TRY(gaussian_radius(sigmas[i], truncate, radii[i]));
    if (!one_axis && sigmas[i] <= 1e-15) continue;  // as in scipy: the axis is left alone
    PENSTOCK_ASSIGN(Filter filter, gaussian(common, i, sigmas[i], orders[i], truncate, radii[i]));
    filters.push_back(std::move(filter));
  }
  return add_filters(chain, std::move(filters), common.output, common.in_double);
}

/// uniform, minimum, maximum
Status add_sized(Chain& chain, Arguments& arguments, Operation operation, bool one_axis) {
  PENSTOCK_ASSIGN(const FilterArguments common,
                  FilterArguments::read(chain, arguments, one_axis ? Axes::one : Axes::some));
  const std::size_t n = common.axes.size();
  const bool has_default = operation == Operation::uniform && !one_axis;
  PENSTOCK_ASSIGN(const auto sizes,
                  arguments.integer_each("size", n, has_default ? std::optional<std::int64_t>(3) : std::nullopt));
  PENSTOCK_ASSIGN(const auto origins, arguments.integer_each("origin", n, 0));
  std::vector<Filter> filters;
  for (std::size_t i = 0; i < n; ++i) {
    PENSTOCK_ASSIGN(Filter filter, make(common, i, operation, sizes[i], origins[i]));
    if (filter.taps > 1 || one_axis) filters.push_back(std::move(filter));
  }
  return add_filters(chain, std::move(filters), common.output,
                     common.in_double || common.output.kind != Kind::floating);
}

/// The difference of the neighbours along one axis, and along each other axis neighbours that count 1, `middle`, 1.
Status add_edges(Chain& chain, Arguments& arguments, double middle) {
  if (arguments.given("axes")) return bad("axes: all axes but one are smoothed; give axis");
  PENSTOCK_ASSIGN(const std::size_t across, read_axis(chain, arguments));
  PENSTOCK_ASSIGN(const FilterArguments common, FilterArguments::read(chain, arguments, Axes::some));
  std::vector<Filter> filters;
  const auto add = [&](std::size_t axis, std::vector<double> weights) -> Status {
    PENSTOCK_ASSIGN(Filter filter, make(common, axis, Operation::correlate, 3, 0));
    filter.weights = std::move(weights);
    filters.push_back(std::move(filter));
    return {};
  };
  PENSTOCK_TRY(add(across, {-1, 0, 1}));
  for (const std::size_t axis : common.axes)
    if (axis != across) PENSTOCK_TRY(add(axis, {1, middle, 1}));
  return add_filters(chain, std::move(filters), common.output, common.in_double);
}

/// Extents of a resized array.
Result<Shape> resized_shape(const Shape& shape, Arguments& arguments) {
  const std::size_t rank = shape.size();
  if (arguments.given("output_shape") == arguments.given("scale")) return bad("give either output_shape or scale");
  Shape out;
  if (arguments.given("output_shape")) {
    PENSTOCK_ASSIGN(const auto extents, arguments.integer_each("output_shape", rank, std::nullopt));
    PENSTOCK_TRY(arguments.number_each("scale", rank, 1));
    for (const std::int64_t extent : extents) {
      if (extent < 1) return bad(fmt::format("output_shape: an extent of {}", extent));
      out.push_back(static_cast<std::uint64_t>(extent));
    }
    return out;
  }
  PENSTOCK_TRY(arguments.integer_each("output_shape", rank, 1));
  PENSTOCK_ASSIGN(const auto scales, arguments.number_each("scale", rank, std::nullopt));
  for (std::size_t d = 0; d < rank; ++d) {
    if (!(scales[d] > 0)) return bad(fmt::format("scale {}: must be more than 0", scales[d]));
    const double extent = std::nearbyint(static_cast<double>(shape[d]) * scales[d]);
    if (extent > 9e15) return bad(fmt::format("scale {} is too large", scales[d]));
    out.push_back(shape[d] == 0 ? 0 : static_cast<std::uint64_t>(std::max(extent, 1.0)));
  }
  return out;
}

}  // namespace

std::vector<double> gaussian_weights(double sigma, int order, std::int64_t radius) {
  // The derivatives of exp(-x^2 / 2 s^2) are it times polynomials: q' - q x / s^2 is the next of them.
  std::vector<double> weights;
  double sum = 0;
  const double s2 = sigma * sigma;
  std::vector<double> q(static_cast<std::size_t>(order) + 1, 0.0);
  q[0] = 1;
  for (int n = 0; n < order; ++n) {
    std::vector<double> next(q.size(), 0.0);
    for (std::size_t k = 0; k < q.size(); ++k) {
      if (k + 1 < q.size()) next[k] += static_cast<double>(k + 1) * q[k + 1];
      if (k > 0) next[k] -= q[k - 1] / s2;
    }
    q = std::move(next);
  }
  for (std::int64_t x = -radius; x <= radius; ++x) {
    const auto at = static_cast<double>(x);
    sum += weights.emplace_back(std::exp(-0.5 / s2 * at * at));
  }
  for (std::int64_t x = -radius; x <= radius; ++x) {
    double& w = weights[static_cast<std::size_t>(x + radius)];
    w /= sum;
    double factor = 0, power = 1;
    for (const double c : q) factor += c * power, power *= static_cast<double>(x);
    w *= factor;
  }
  std::ranges::reverse(weights);  // a convolution
  return weights;
}

Status add_correlate1d(Chain& chain, Arguments& arguments) {
  PENSTOCK_ASSIGN(const FilterArguments common, FilterArguments::read(chain, arguments, Axes::one));
  PENSTOCK_ASSIGN(const auto weights, arguments.numbers("weights"));
  PENSTOCK_ASSIGN(const std::int64_t origin, arguments.integer("origin", 0));
  if (weights.empty()) return bad("weights: there are none");
  PENSTOCK_ASSIGN(Filter filter,
                  make(common, 0, Operation::correlate, static_cast<std::int64_t>(weights.size()), origin));
  filter.weights = weights;
  std::vector<Filter> filters;
  filters.push_back(std::move(filter));
  return add_filters(chain, std::move(filters), common.output, common.in_double);
}

Status add_gaussian_filter(Chain& chain, Arguments& arguments) { return add_gaussians(chain, arguments, false); }
Status add_gaussian_filter1d(Chain& chain, Arguments& arguments) { return add_gaussians(chain, arguments, true); }
Status add_prewitt(Chain& chain, Arguments& arguments) { return add_edges(chain, arguments, 1); }
Status add_sobel(Chain& chain, Arguments& arguments) { return add_edges(chain, arguments, 2); }
Status add_uniform_filter(Chain& chain, Arguments& arguments) {
  return add_sized(chain, arguments, Operation::uniform, false);
}
Status add_uniform_filter1d(Chain& chain, Arguments& arguments) {
  return add_sized(chain, arguments, Operation::uniform, true);
}
Status add_minimum_filter(Chain& chain, Arguments& arguments) {
  return add_sized(chain, arguments, Operation::minimum, false);
}
Status add_minimum_filter1d(Chain& chain, Arguments& arguments) {
  return add_sized(chain, arguments, Operation::minimum, true);
}
Status add_maximum_filter(Chain& chain, Arguments& arguments) {
  return add_sized(chain, arguments, Operation::maximum, false);
}
Status add_maximum_filter1d(Chain& chain, Arguments& arguments) {
  return add_sized(chain, arguments, Operation::maximum, true);
}

namespace {

Status add_splines(Chain& chain, Arguments& arguments, const std::vector<std::size_t>& axes) {
  PENSTOCK_ASSIGN(const std::int64_t order, arguments.integer("order", 3));
  if (order < 0 || order > kMaxSplineOrder)
    return bad(fmt::format("order {}: splines have the orders 0 to {}", order, kMaxSplineOrder));
  PENSTOCK_ASSIGN(const std::string mode, arguments.text("mode", "mirror"));
  PENSTOCK_TRY(parse_border(mode));
  PENSTOCK_ASSIGN(const DType output, arguments.dtype("output", DType::float64()));
  const DType computed = output == DType::float32() ? output : DType::float64();
  const auto cast = [&](const DType& dtype) {
    if (chain.output().dtype != dtype) chain.add(element::make_cast(chain.output(), dtype, Rounding::truncate));
  };
  for (const std::size_t axis : axes) {
    if (order < 2 || chain.output().shape[axis] < 2) continue;
    cast(computed);
    chain.add(make_spline(chain.output(), axis, static_cast<int>(order), spline_border(mode)));
    cast(output);
  }
  cast(output);
  return {};
}

}  // namespace

Status add_spline_filter(Chain& chain, Arguments& arguments) {
  std::vector<std::size_t> axes(chain.output().shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return add_splines(chain, arguments, axes);
}

Status add_spline_filter1d(Chain& chain, Arguments& arguments) {
  PENSTOCK_ASSIGN(const std::size_t axis, read_axis(chain, arguments));
  return add_splines(chain, arguments, {axis});
}

Status add_resize(Chain& chain, Arguments& arguments) {
  const ArrayInfo input = chain.output();
  const std::size_t rank = input.shape.size();
  PENSTOCK_ASSIGN(const Shape out, resized_shape(input.shape, arguments));
  PENSTOCK_ASSIGN(const std::int64_t order, arguments.integer("order", 1));
  if (order != 0 && order != 1) return bad(fmt::format("order {}: resize has 0 (nearest) and 1 (linear)", order));
  PENSTOCK_ASSIGN(const std::string align, arguments.text("align", "half_pixel"));
  if (align != "half_pixel" && align != "corners")
    return bad(fmt::format("align is half_pixel or corners, not {}", align));
  PENSTOCK_ASSIGN(const bool smooth, arguments.flag("anti_aliasing", order > 0));
  PENSTOCK_ASSIGN(const std::string mode, arguments.text("mode", align == "corners" ? "reflect" : "mirror"));
  PENSTOCK_ASSIGN(const Border border, parse_border(mode));
  PENSTOCK_ASSIGN(const double constant, arguments.any_number("cval", 0));
  PENSTOCK_ASSIGN(const DType output, arguments.dtype("output", input.dtype));
  PENSTOCK_ASSIGN(const std::string precision, arguments.text("precision", "float32"));
  const bool in_double = precision == "float64";
  const Compute compute = order == 0 && !smooth ? Compute::element : compute_for(input.dtype, in_double);
  // Fractions are kept until the end: a whole number is rounded once.
  if (compute != Compute::element) {
    const DType computed = compute == Compute::float32 ? DType::float32() : DType::float64();
    if (input.dtype != computed) chain.add(element::make_cast(input, computed, Rounding::truncate));
  }
  FilterArguments common;
  common.constant = constant;
  for (std::size_t d = 0; d < rank; ++d) {
    const double sigma = (static_cast<double>(input.shape[d]) / static_cast<double>(out[d]) - 1) / 2;
    if (!smooth || out[d] >= input.shape[d] || sigma <= 0) continue;
    common.axes = {d};
    common.borders = {border};
    PENSTOCK_ASSIGN(Filter filter, gaussian(common, 0, sigma, 0, 4.0, std::nullopt));
    filter.compute = compute;
    PENSTOCK_ASSIGN(auto op, make_filter(chain.output(), std::move(filter)));
    chain.add(std::move(op));
  }
  for (std::size_t d = 0; d < rank; ++d)
    if (out[d] != input.shape[d])
      chain.add(make_resample(
          chain.output(), {d, out[d], align == "corners" ? Align::corners : Align::half_pixel, static_cast<int>(order),
                           border, constant, order == 0 ? Compute::element : compute}));
  if (chain.output().dtype != output) chain.add(element::make_cast(chain.output(), output, Rounding::nearest));
  return {};
}

}  // namespace penstock::line

#include "ops/sample/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/common.hpp"
#include "ops/element/element.hpp"
#include "ops/sample/sample.hpp"

namespace penstock::sample {
namespace {

/// What all of them take.
struct Common {
  int order = 3;
  bool prefilter = true;
  std::string mode_name;
  Mode mode = Mode::constant;
  double constant = 0;
  DType output;
  bool in_double = false;

  static Result<Common> read(Chain& chain, Arguments& arguments) {
    Common c;
    const std::size_t rank = chain.output().shape.size();
    if (rank == 0 || rank > kMaxDimensions)
      return bad_argument(fmt::format("samples are of arrays of 1 to {} dimensions, not {}", kMaxDimensions, rank));
    PENSTOCK_ASSIGN(const std::int64_t order, arguments.integer("order", 3));
    if (order < 0 || order > kMaxOrder)
      return bad_argument(fmt::format("order {}: splines have the orders 0 to {}", order, kMaxOrder));
    c.order = static_cast<int>(order);
    PENSTOCK_ASSIGN(c.prefilter, arguments.flag("prefilter", true));
    PENSTOCK_ASSIGN(c.mode_name, arguments.text("mode", "constant"));
    PENSTOCK_ASSIGN(c.mode, parse_mode(c.mode_name));
    PENSTOCK_ASSIGN(c.constant, arguments.any_number("cval", 0));
    PENSTOCK_ASSIGN(c.output, arguments.dtype("output", chain.output().dtype));
    PENSTOCK_ASSIGN(const std::string precision, arguments.text("precision", "float32"));
    c.in_double = precision == "float64";
    return c;
  }

  [[nodiscard]] Status add(Chain& chain, const Shape& shape, Affinity map) const {
    const ArrayInfo& input = chain.output();
    const bool empty_in = std::ranges::find(input.shape, 0u) != input.shape.end();
    const bool empty_out = std::ranges::find(shape, 0u) != shape.end();
    if (empty_in && !empty_out) return bad_argument("the input has no elements");
    if (order > 1 && !empty_in && !empty_out) {
      const std::int64_t margin = add_coefficients(chain, order, mode_name, constant, in_double, prefilter);
      for (double& offset : map.offset) offset += static_cast<double>(margin);
    } else if (output != input.dtype && output.kind == Kind::floating) {
      // Into another type with fractions they are kept; whole numbers are rounded once.
      chain.add(element::make_cast(input, output, Rounding::truncate));
    }
    const DType sampled = sampled_type(chain.output().dtype, order, chain.output().shape.size(), in_double);
    if (sampled != chain.output().dtype) chain.add(element::make_cast(chain.output(), sampled, Rounding::truncate));
    chain.add(make_affine(chain.output(), shape, std::move(map), order, mode, constant));
    if (output != chain.output().dtype) chain.add(element::make_cast(chain.output(), output, Rounding::nearest));
    return {};
  }
};

Affinity diagonal(const std::vector<double>& scale, const std::vector<double>& offset) {
  const std::size_t n = scale.size();
  Affinity map;
  map.matrix.assign(n * n, 0);
  for (std::size_t d = 0; d < n; ++d) map.matrix[d * n + d] = scale[d];
  map.offset = offset;
  map.slack.assign(n, 0);
  return map;
}

}  // namespace

Status add_affine_transform(Chain& chain, Arguments& arguments) {
  PENSTOCK_ASSIGN(const Common common, Common::read(chain, arguments));
  const Shape in = chain.output().shape;
  const std::size_t n = in.size();
  PENSTOCK_ASSIGN(const std::vector<double> matrix, arguments.numbers("matrix"));
  PENSTOCK_ASSIGN(std::vector<double> offset, arguments.number_each("offset", n, 0));
  Shape out = in;
  if (arguments.given("output_shape")) {
    PENSTOCK_ASSIGN(const auto extents, arguments.integer_each("output_shape", n, std::nullopt));
    for (std::size_t d = 0; d < n; ++d) {
      if (extents[d] < 0) return bad_argument(fmt::format("output_shape: an extent of {}", extents[d]));
      out[d] = static_cast<std::uint64_t>(extents[d]);
    }
  } else {
    PENSTOCK_TRY(arguments.text("output_shape", ""));
  }
  if (matrix.size() == n && n > 1) return common.add(chain, out, diagonal(matrix, offset));
  // n x n, or homogeneous: n x (n + 1), (n + 1) x (n + 1).
  const bool square = matrix.size() == n * n, wide = matrix.size() == n * (n + 1);
  if (!square && !wide && matrix.size() != (n + 1) * (n + 1))
    return bad_argument(fmt::format("a matrix of {} numbers for an array of {} dimensions", matrix.size(), n));
  Affinity map;
  map.slack.assign(n, 0);
  const std::size_t columns = square ? n : n + 1;
  for (std::size_t d = 0; d < n; ++d) {
    for (std::size_t k = 0; k < n; ++k) map.matrix.push_back(matrix[d * columns + k]);
    map.offset.push_back(square ? offset[d] : matrix[d * columns + n]);
  }
  return common.add(chain, out, std::move(map));
}

Status add_shift(Chain& chain, Arguments& arguments) {
  PENSTOCK_ASSIGN(const Common common, Common::read(chain, arguments));
  const Shape shape = chain.output().shape;
  PENSTOCK_ASSIGN(std::vector<double> shift, arguments.number_each("shift", shape.size(), std::nullopt));
  for (double& s : shift) s = -s;
  return common.add(chain, shape, diagonal(std::vector<double>(shape.size(), 1), shift));
}

Status add_zoom(Chain& chain, Arguments& arguments) {
  PENSTOCK_ASSIGN(const Common common, Common::read(chain, arguments));
  const Shape in = chain.output().shape;
  const std::size_t n = in.size();
  PENSTOCK_ASSIGN(const std::vector<double> zoom, arguments.number_each("zoom", n, std::nullopt));
  PENSTOCK_ASSIGN(const bool grid, arguments.flag("grid_mode", false));
  PENSTOCK_ASSIGN(const std::string compat, arguments.text("compat", "none"));
  if (compat != "none" && compat != "scipy") return bad_argument("compat is scipy, or not given");
  Shape out;
  std::vector<double> scale, offset;
  for (std::size_t d = 0; d < n; ++d) {
    if (!(zoom[d] >= 0)) return bad_argument(fmt::format("zoom {}: must not be negative", zoom[d]));
    const double extent = std::nearbyint(static_cast<double>(in[d]) * zoom[d]);  // as Python's round
    if (extent > 9e15) return bad_argument(fmt::format("zoom {} is too large", zoom[d]));
    out.push_back(static_cast<std::uint64_t>(extent));
    const double from = static_cast<double>(in[d]) - (grid ? 0 : 1), to = extent - (grid ? 0 : 1);
    scale.push_back(to > 0 ? from / to : 1);
    offset.push_back(grid ? 0.5 * scale.back() - 0.5 : 0);
  }
  Affinity map = diagonal(scale, offset);
  // Rounding carries the last coordinate beyond the last element, which costs scipy's zoom its last plane.
  if (compat == "none")
    for (std::size_t d = 0; d < n; ++d) map.slack[d] = 1e-9 * static_cast<double>(std::max<std::uint64_t>(in[d], 1));
  return common.add(chain, out, std::move(map));
}

}  // namespace penstock::sample

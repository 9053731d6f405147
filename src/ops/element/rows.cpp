#include "ops/element/rows.hpp"

#include <fmt/format.h>

#include <limits>

#include "ops/common.hpp"
#include "ops/compute.hpp"
#include "ops/element/element.hpp"

namespace penstock::element {
namespace {

/// The type with fractions that holds all of a type's values.
DType with_fractions(const DType& dtype) {
  if (dtype.kind == Kind::floating) return dtype;
  return compute_for(dtype, false) == Compute::float32 ? DType::float32() : DType::float64();
}

/// Adds the steps; `output` says into which type they go, where the call does not.
Status add_steps(Chain& chain, Arguments& arguments, std::vector<Step> steps, const DType& otherwise) {
  PENSTOCK_ASSIGN(const DType output, arguments.dtype("output", otherwise));
  PENSTOCK_ASSIGN(const std::string precision, arguments.text("precision", "float32"));
  if (precision != "float32" && precision != "float64")
    return bad_argument(fmt::format("precision is float32 or float64, not {}", precision));
  if (!is_operand(output)) return Error(ErrorCode::unsupported, "no elements of type " + output.name());
  chain.add(make_program(chain.output(), output, std::move(steps), precision == "float64"));
  return {};
}

/// A step with the argument `value`.
Status add_with_value(Chain& chain, Arguments& arguments, Action action, double sign) {
  PENSTOCK_ASSIGN(const double value, arguments.number("value", std::nullopt));
  return add_steps(chain, arguments, {{action, sign * value, 0}}, with_fractions(chain.output().dtype));
}

Status add_plain(Chain& chain, Arguments& arguments, Action action) {
  return add_steps(chain, arguments, {{action, 0, 0}}, with_fractions(chain.output().dtype));
}

}  // namespace

Status add_cast(Chain& chain, Arguments& arguments) {
  const DType input = chain.output().dtype;
  if (!arguments.given("output")) return bad_argument("output is not given");
  PENSTOCK_ASSIGN(const DType output, arguments.dtype("output", input));
  if (!is_operand(output)) return Error(ErrorCode::unsupported, "no elements of type " + output.name());
  if (input.kind == Kind::floating || output.kind == Kind::floating) return add_steps(chain, arguments, {}, output);
  chain.add(make_cast(chain.output(), output, Rounding::nearest));  // all 64 bits
  return {};
}

Status add_add(Chain& chain, Arguments& arguments) { return add_with_value(chain, arguments, Action::add, 1); }
Status add_subtract(Chain& chain, Arguments& arguments) { return add_with_value(chain, arguments, Action::add, -1); }
Status add_multiply(Chain& chain, Arguments& arguments) {
  return add_with_value(chain, arguments, Action::multiply, 1);
}
Status add_divide(Chain& chain, Arguments& arguments) { return add_with_value(chain, arguments, Action::divide, 1); }

Status add_clip(Chain& chain, Arguments& arguments) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  PENSTOCK_ASSIGN(const double low, arguments.any_number("min", -kInfinite));
  PENSTOCK_ASSIGN(const double high, arguments.any_number("max", kInfinite));
  if (!(low <= high)) return bad_argument(fmt::format("min {} is not at most max {}", low, high));
  return add_steps(chain, arguments, {{Action::clip, low, high}}, chain.output().dtype);
}

Status add_scale(Chain& chain, Arguments& arguments) {
  PENSTOCK_ASSIGN(const double low, arguments.number("low", std::nullopt));
  PENSTOCK_ASSIGN(const double high, arguments.number("high", std::nullopt));
  PENSTOCK_ASSIGN(const double to_low, arguments.number("to_low", 0.0));
  PENSTOCK_ASSIGN(const double to_high, arguments.number("to_high", 1.0));
  if (low == high) return bad_argument(fmt::format("low and high are both {}", low));
  return add_steps(
      chain, arguments,
      {{Action::add, -low, 0}, {Action::multiply, (to_high - to_low) / (high - low), 0}, {Action::add, to_low, 0}},
      with_fractions(chain.output().dtype));
}

Status add_log(Chain& chain, Arguments& arguments) { return add_plain(chain, arguments, Action::log); }
Status add_exp(Chain& chain, Arguments& arguments) { return add_plain(chain, arguments, Action::exp); }
Status add_sqrt(Chain& chain, Arguments& arguments) { return add_plain(chain, arguments, Action::sqrt); }
Status add_absolute(Chain& chain, Arguments& arguments) {
  return add_steps(chain, arguments, {{Action::absolute, 0, 0}}, chain.output().dtype);
}

}  // namespace penstock::element

#include "ops/common.hpp"

#include <fmt/format.h>

namespace penstock {

Error bad_argument(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

Result<std::size_t> read_axis(const Chain& chain, Arguments& arguments) {
  PENSTOCK_ASSIGN(const std::int64_t axis, arguments.integer("axis", -1));
  const auto rank = static_cast<std::int64_t>(chain.output().shape.size());
  if (axis < -rank || axis >= rank)
    return bad_argument(fmt::format("axis {} of an array of {} dimensions", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

Result<FilterArguments> FilterArguments::read(Chain& chain, Arguments& arguments, Axes which) {
  FilterArguments made;
  if (which == Axes::one) {
    PENSTOCK_ASSIGN(const std::size_t axis, read_axis(chain, arguments));
    made.axes = {axis};
  } else {
    PENSTOCK_ASSIGN(made.axes, arguments.axes());
  }
  PENSTOCK_ASSIGN(const auto modes, arguments.text_each("mode", made.axes.size(), "reflect"));
  for (const std::string& mode : modes) {
    PENSTOCK_ASSIGN(const Border border, parse_border(mode));
    made.borders.push_back(border);
  }
  PENSTOCK_ASSIGN(made.constant, arguments.any_number("cval", 0));
  PENSTOCK_ASSIGN(made.output, arguments.dtype("output", chain.output().dtype));
  PENSTOCK_ASSIGN(const std::string precision, arguments.text("precision", "float32"));
  if (precision != "float32" && precision != "float64")
    return bad_argument(fmt::format("precision is float32 or float64, not {}", precision));
  made.in_double = precision == "float64";
  return made;
}

Result<std::int64_t> window_start(std::int64_t size, std::int64_t origin, std::size_t axis) {
  constexpr std::int64_t kMost = 1 << 24;  // more than any image has; a slip in a size would take all memory
  if (size < 1) return bad_argument(fmt::format("size {} along axis {}: must be 1 or more", size, axis));
  if (size > kMost) return bad_argument(fmt::format("size {} along axis {} is too large", size, axis));
  const std::int64_t before = size / 2 + origin;
  if (before < 0 || before >= size)
    return bad_argument(fmt::format("origin {} lies outside a filter of {} elements", origin, size));
  return before;
}

}  // namespace penstock

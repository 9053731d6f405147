// What filters of every family take: axes, modes, cval, output, precision.
#pragma once
#include <vector>

#include "ops/border.hpp"
#include "ops/list.hpp"

namespace penstock {

/// Error of an argument.
Error bad_argument(std::string message);

/// The argument `axis`, -1 where it is not given.  Errors: invalid_argument.
Result<std::size_t> read_axis(const Chain& chain, Arguments& arguments);

struct FilterArguments {
  std::vector<std::size_t> axes;
  std::vector<Border> borders;  ///< of the axes
  double constant = 0;
  DType output;
  bool in_double = false;

  enum class Axes : std::uint8_t { one, some };
  /// Axes::one: the argument `axis`; some: `axes`.
  static Result<FilterArguments> read(Chain& chain, Arguments& arguments, Axes which);
};

/// How far before an output its window of `size` elements begins.  Errors: invalid_argument.
Result<std::int64_t> window_start(std::int64_t size, std::int64_t origin, std::size_t axis);

}  // namespace penstock

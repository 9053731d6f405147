// What stands beyond the ends of an axis: turned into a table of indices once, on the host, so that no kernel asks.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/region.hpp"

namespace penstock {

/// How an axis a b c d goes on.  scipy's names; `grid-` forms of filters are the same as those without.
enum class Border : std::uint8_t {
  reflect,   ///< d c b a | a b c d | d c b a
  mirror,    ///<   d c b | a b c d | c b a
  nearest,   ///< a a a a | a b c d | d d d d
  constant,  ///< k k k k | a b c d | k k k k
  wrap,      ///< a b c d | a b c d | a b c d
};

/// The name that scipy.ndimage gives the mode of a filter.  Errors: invalid_argument, with the names.
Result<Border> parse_border(std::string_view name);

/// Index in [0, extent) of what stands at `at`; -1: the constant.  extent > 0.
std::int64_t border_index(std::int64_t at, std::int64_t extent, Border border);

/// Indices of what stands at first, first + 1, ...; count of them, less `origin` (the first element that is there).
/// Errors: out_of_range (an extent of 2^31 or more).
Result<std::vector<std::int32_t>> border_table(std::int64_t first, std::uint64_t count, std::uint64_t extent,
                                               std::uint64_t origin, Border border);

/// The elements of an axis that are needed to know what stands at first ... last.
Range border_range(std::int64_t first, std::int64_t last, std::uint64_t extent, Border border);

/// The constant where elements are only compared: of whole numbers without its fraction, and where the type ends before
/// it the type's end.  So it is smaller or larger than elements as it was, which it would not be had it wrapped.
template <class T>
T compared_constant(double constant) {
  if constexpr (std::is_same_v<T, bool>) {
    return constant > 0;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    if (!(constant > static_cast<double>(least))) return least;
    return constant >= static_cast<double>(most) ? most : static_cast<T>(constant);
  } else {
    return static_cast<T>(constant);
  }
}

}  // namespace penstock

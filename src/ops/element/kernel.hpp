// One element to another type: written once for every processor.
//
// scipy works in double and stores what comes out as C casts it; values that C leaves open are what x86 makes of them.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "device/portable.hpp"

namespace penstock {

/// How a value with a fraction becomes a whole number.
enum class Rounding : std::uint32_t {
  truncate,  ///< as C: towards zero; what does not fit wraps
  nearest,   ///< halves away from zero; what does not fit becomes the nearest that does, NaN becomes 0
};

/// The ends of a type: device code may use constants of the host, not its functions.
template <class T>
inline constexpr T kLeast = std::numeric_limits<T>::min();
template <class T>
inline constexpr T kMost = std::numeric_limits<T>::max();

/// As C casts on the machines in use; here for every value, also those for which C leaves it open.
template <class To, class From>
PENSTOCK_HD To truncated(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if constexpr (sizeof(To) < 4 || std::is_same_v<To, std::int32_t>) {
      const bool fits = value >= From(-2147483648.0) && value < From(2147483648.0);
      return static_cast<To>(fits ? static_cast<std::int32_t>(value) : kLeast<std::int32_t>);
    } else {
      if (value > From(-9223372036854775808.0) && value < From(9223372036854775808.0))
        return static_cast<To>(static_cast<std::int64_t>(value));
      if constexpr (std::is_same_v<To, std::uint64_t>)
        if (value >= From(9223372036854775808.0) && value < From(18446744073709551616.0))
          return static_cast<std::uint64_t>(value);
      return static_cast<To>(kLeast<std::int64_t>);
    }
  } else {
    return static_cast<To>(value);
  }
}

template <class To, class From>
PENSTOCK_HD To nearest(From value) {
  if constexpr (std::is_same_v<To, bool> && std::is_floating_point_v<From>) {
    return value >= From(0.5);
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const double v = static_cast<double>(value) + (value < From(0) ? -0.5 : 0.5);
    if (!(v > static_cast<double>(kLeast<To>) - 1)) return v != v ? To(0) : kLeast<To>;
    return v >= static_cast<double>(kMost<To>) ? kMost<To> : static_cast<To>(v);
  } else if constexpr (std::is_integral_v<To> && !std::is_same_v<From, To> && !std::is_same_v<From, bool>) {
    if constexpr (std::is_signed_v<From>)
      if (value < 0) {
        if constexpr (std::is_unsigned_v<To>) return To(0);
        return static_cast<std::int64_t>(value) < static_cast<std::int64_t>(kLeast<To>) ? kLeast<To>
                                                                                        : static_cast<To>(value);
      }
    return static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(kMost<To>) ? kMost<To>
                                                                                     : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
struct CastJob {
  const From* in;
  To* out;
  Rounding rounding;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    out[i] = rounding == Rounding::nearest ? nearest<To>(in[i]) : truncated<To>(in[i]);
  }
};

}  // namespace penstock

// Conversion between numbers on a device, as cast_function does it on the CPU.
#pragma once
#include "codec/astype/scalar.hpp"

namespace penstock {

/// A number of any type as T, float or double; as float, one of an integer type, float16 or float32.
template <class T>
PENSTOCK_HD T load_as(const ScalarType& type, const std::uint8_t* at) {
  if (type.is_half()) return cast_float<T>(float_of_half(static_cast<std::uint16_t>(type.load_bits(at))));
  if (type.is_bool) return static_cast<T>(at[0] != 0);
  return type.load<T>(at);
}

/// A number that was a float of `from_bytes` bytes, into any type; or an integer that load_as has rounded, into a
/// float. T: float or double.
template <class T>
PENSTOCK_HD void store_as(const ScalarType& type, std::uint8_t* at, T value, std::uint32_t from_bytes) {
  if (type.is_half()) return type.store_bits(at, half_of(cast_float<double>(value)));
  if (type.is_float) return type.store(at, value);
  if (type.is_bool) return type.store_bits(at, value != 0 ? 1 : 0);
  if (type.bytes == 8)
    return type.store_bits(at, type.is_signed ? static_cast<std::uint64_t>(to_signed<std::int64_t>(value))
                                              : to_unsigned<std::int64_t>(value));
  if (type.bytes < 4 || type.is_signed)
    return type.store_bits(at, static_cast<std::uint32_t>(to_signed<std::int32_t>(value)));
  type.store_bits(at, from_bytes == 2 ? static_cast<std::uint64_t>(to_signed<std::int64_t>(value))
                                      : to_unsigned<std::int32_t>(value));
}

/// Unit i is number i.
struct ConvertFilter {
  ScalarType from, to;

  [[nodiscard]] PENSTOCK_HD std::uint64_t in_bytes(std::uint64_t out_bytes) const {
    return out_bytes / to.bytes * from.bytes;
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t units(std::uint64_t out_bytes) const { return out_bytes / to.bytes; }
  PENSTOCK_HD void operator()(const std::uint8_t* in, std::uint8_t* out, std::uint64_t /*out_bytes*/,
                              std::uint64_t i) const {
    in += i * from.bytes;
    out += i * to.bytes;
    if (from == to)
      to.store_bits(out, from.load_bits(in));  // a NaN that is not quiet stays so
    else if (from.is_float || (to.is_float && to.bytes == 8))
      store_as(to, out, load_as<double>(from, in), from.bytes);
    else if (to.is_float)
      store_as(to, out, load_as<float>(from, in), from.bytes);
    else if (from.is_bool || to.is_bool)
      to.store_bits(out, from.load_bits(in) != 0 ? 1 : 0);
    else
      to.store_bits(out, from.load_integer(in));
  }
};

}  // namespace penstock

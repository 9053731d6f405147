// Plain numbers of a type known at run time, on every device.
#pragma once
#include <cstdint>

#include "codec/astype/cast.hpp"
#include "device/portable.hpp"

namespace penstock {

/// An integer of 1 to 8 bytes, a float of 2, 4 or 8, or a bool of one byte; little-endian, at any address.
struct ScalarType {
  std::uint8_t bytes = 1;
  bool is_signed = false;
  bool is_float = false;
  bool is_bool = false;

  [[nodiscard]] PENSTOCK_HD bool operator==(const ScalarType& other) const {
    return bytes == other.bytes && is_signed == other.is_signed && is_float == other.is_float &&
           is_bool == other.is_bool;
  }
  [[nodiscard]] PENSTOCK_HD bool is_half() const { return is_float && bytes == 2; }
  [[nodiscard]] PENSTOCK_HD std::uint64_t load_bits(const std::uint8_t* at) const {
    std::uint64_t bits = 0;
    for (std::uint32_t k = 0; k < bytes; ++k) bits |= static_cast<std::uint64_t>(at[k]) << (8 * k);
    return bits;
  }
  /// Extended to 64 bits by its sign.
  [[nodiscard]] PENSTOCK_HD std::uint64_t load_integer(const std::uint8_t* at) const {
    const std::uint64_t bits = load_bits(at);
    const std::uint32_t above = 64u - 8u * bytes;
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << above) >> above) : bits;
  }
  PENSTOCK_HD void store_bits(std::uint8_t* at, std::uint64_t bits) const {
    for (std::uint32_t k = 0; k < bytes; ++k) at[k] = static_cast<std::uint8_t>(bits >> (8 * k));
  }
  /// An integer, float32 or float64 as T, float or double.
  template <class T>
  [[nodiscard]] PENSTOCK_HD T load(const std::uint8_t* at) const {
    if (!is_float) {
      const std::uint64_t value = load_integer(at);
      return is_signed ? static_cast<T>(static_cast<std::int64_t>(value)) : static_cast<T>(value);
    }
    if (bytes == 4) return cast_float<T>(float_of_bits<float>(static_cast<std::uint32_t>(load_bits(at))));
    return cast_float<T>(float_of_bits<double>(load_bits(at)));
  }
  /// Into float32 or float64.
  template <class T>
  PENSTOCK_HD void store(std::uint8_t* at, T value) const {
    store_bits(at, bytes == 4 ? bits_of_float(cast_float<float>(value)) : bits_of_float(cast_float<double>(value)));
  }
};

}  // namespace penstock

// Plain numbers of a type known at run time, on every device.
#pragma once
#include <cstdint>
#include <cstring>

#include "device/portable.hpp"

namespace penstock {

/// An integer of 1 to 8 bytes, or float32 or float64; little-endian, at any address.
struct ScalarType {
  std::uint8_t bytes = 1;
  bool is_signed = false;
  bool is_float = false;

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
  /// As T, float or double.
  template <class T>
  [[nodiscard]] PENSTOCK_HD T load(const std::uint8_t* at) const {
    if (!is_float) {
      const std::uint64_t value = load_integer(at);
      return is_signed ? static_cast<T>(static_cast<std::int64_t>(value)) : static_cast<T>(value);
    }
    if (bytes == 4) {
      const auto bits = static_cast<std::uint32_t>(load_bits(at));
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return static_cast<T>(value);
    }
    const std::uint64_t bits = load_bits(at);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<T>(value);
  }
  /// Into a floating type.
  template <class T>
  PENSTOCK_HD void store(std::uint8_t* at, T value) const {
    if (bytes == 4) {
      const auto narrow = static_cast<float>(value);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &narrow, sizeof bits);
      return store_bits(at, bits);
    }
    const auto wide = static_cast<double>(value);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &wide, sizeof bits);
    store_bits(at, bits);
  }
};

}  // namespace penstock

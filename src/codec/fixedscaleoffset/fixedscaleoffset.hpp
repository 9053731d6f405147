// The codec "numcodecs.fixedscaleoffset": (x - offset) * scale, rounded.
#pragma once
#include <optional>

#include "codec/astype/filter.hpp"
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kFixedScaleOffsetCodec;

/// A Python number of a configuration: an int computes in the type of the array, a float in a floating type.
struct PythonNumber {
  bool is_int = false;
  std::int64_t integer = 0;  ///< is_int and below 2^63, else 0
  double value = 0;          ///< the number as a float

  /// Whether the number is an int that `number`, an integer type, can hold.
  [[nodiscard]] bool fits(Number number) const;
};

/// The types that NumPy 2 computes in, step by step, and the arithmetic (fixedscaleoffset/cpu.cpp).
struct ScaleOffset {
  Number decoded;
  Number encoded;
  PythonNumber offset;
  PythonNumber scale;

  /// Type of x - offset, and of its product with the scale.
  [[nodiscard]] Number difference_type() const;
  [[nodiscard]] Number product_type() const;
  /// Type of x / scale + offset.
  [[nodiscard]] Number decode_type() const;
  void encode(const std::byte* in, std::byte* out, std::size_t count) const;
  void decode(const std::byte* in, std::byte* out, std::size_t count) const;
};
}  // namespace penstock

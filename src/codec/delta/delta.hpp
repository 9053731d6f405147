// The codec "numcodecs.delta": differences between neighbours.
#pragma once
#include "codec/astype/filter.hpp"
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kDeltaCodec;

/// Differences of `decoded` numbers, stored as `encoded` numbers (delta/cpu.cpp).  `count` scalars; complex numbers are
/// two scalars each, whose real and imaginary parts are taken apart.
struct DeltaNumbers {
  Number decoded;
  Number encoded;
  std::size_t parts;  ///< scalars of one element

  /// NumPy sums in the wider of the two types and then converts; integers wrap in the decoded type, whichever is wider.
  [[nodiscard]] Number sum_type() const;
  void encode(const std::byte* in, std::byte* out, std::size_t count) const;
  void decode(const std::byte* in, std::byte* out, std::size_t count) const;
};
}  // namespace penstock

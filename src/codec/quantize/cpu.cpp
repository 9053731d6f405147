#include <algorithm>
#include <array>
#include <cmath>

#include "codec/quantize/quantize.hpp"

namespace penstock {
namespace {

template <class T>
void quantize_block(double scale, const std::byte* in, std::byte* out, std::size_t count) {
  // Each operation is rounded to T, as NumPy does for float16.
  const auto factor = static_cast<Wide<T>>(static_cast<T>(scale));
  for (std::size_t i = 0; i < count; ++i) {
    const T scaled = static_cast<T>(factor * static_cast<Wide<T>>(load_number<T>(in + i * sizeof(T))));
    const T rounded = static_cast<T>(std::nearbyint(static_cast<Wide<T>>(scaled)));
    store_number(out + i * sizeof(T), static_cast<T>(static_cast<Wide<T>>(rounded) / factor));
  }
}

}  // namespace

double quantize_scale(int digits) {
  const double precision = std::pow(10.0, -digits);
  double exponent = std::log10(precision);
  exponent = exponent < 0 ? std::floor(exponent) : std::ceil(exponent);
  return std::exp2(std::ceil(std::log2(std::pow(10.0, -exponent))));
}

void quantize(Number decoded, Number encoded, double scale, const std::byte* in, std::byte* out, std::size_t count) {
  const CastFunction narrow = cast_function(decoded, encoded);
  std::array<std::byte, kFilterBlock * sizeof(double)> block;
  for (std::size_t i = 0; i < count; i += kFilterBlock) {
    const std::size_t n = std::min(kFilterBlock, count - i);
    const std::byte* const from = in + i * size_of(decoded);
    switch (decoded) {
      case Number::f2: quantize_block<Half>(scale, from, block.data(), n); break;
      case Number::f4: quantize_block<float>(scale, from, block.data(), n); break;
      default: quantize_block<double>(scale, from, block.data(), n); break;
    }
    narrow(block.data(), out + i * size_of(encoded), n);
  }
}

}  // namespace penstock

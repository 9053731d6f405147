#include "codec/bitround/bitround.hpp"

namespace penstock {
namespace {

template <class U>
void round_all(std::uint32_t mantissa, std::uint32_t keepbits, const std::byte* in, std::byte* out, std::size_t count) {
  const auto one = U{1};
  const std::uint32_t drop = mantissa - keepbits;  // at least 1
  const auto half_less_one = static_cast<U>((one << (drop - 1)) - 1);
  const auto mask = static_cast<U>(~U{0} << drop);
  const auto magnitude = static_cast<U>(static_cast<U>(~U{0}) >> 1);
  const auto infinity = static_cast<U>(magnitude & static_cast<U>(~U{0} << mantissa));
  for (std::size_t i = 0; i < count; ++i) {
    const U x = load_number<U>(in + i * sizeof(U));
    const auto odd = static_cast<U>((x >> drop) & one);
    const auto rounded = static_cast<U>(static_cast<U>(x + odd + half_less_one) & mask);
    // The carry must not turn a NaN into a number, nor the mask into infinity.
    const bool nan = (x & magnitude) > infinity;
    const bool stays_nan = (rounded & magnitude) > infinity;
    store_number(out + i * sizeof(U), nan && !stays_nan ? x : rounded);
  }
}

}  // namespace

std::uint32_t mantissa_bits(const DType& dtype) {
  if (dtype.kind == Kind::bfloat) return 7;
  const std::uint32_t size = dtype.kind == Kind::complex ? dtype.size_bytes / 2 : dtype.size_bytes;
  return size == 2 ? 10 : size == 4 ? 23 : 52;
}

void bitround(std::uint32_t size_bytes, std::uint32_t mantissa, std::uint32_t keepbits, const std::byte* in,
              std::byte* out, std::size_t count) {
  switch (size_bytes) {
    case 2: return round_all<std::uint16_t>(mantissa, keepbits, in, out, count);
    case 4: return round_all<std::uint32_t>(mantissa, keepbits, in, out, count);
    default: return round_all<std::uint64_t>(mantissa, keepbits, in, out, count);
  }
}

}  // namespace penstock

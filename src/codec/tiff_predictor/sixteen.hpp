// Sixteen bytes at a time, on any processor whose compiler has vectors: sums along them, and bytes put together.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace penstock::tiff {

typedef std::uint8_t Sixteen __attribute__((vector_size(16)));

/// Item by item, modulo what an item holds.
template <class T>
Sixteen add_sixteen(Sixteen a, Sixteen b) {
  typedef T Items __attribute__((vector_size(16)));
  return reinterpret_cast<Sixteen>(reinterpret_cast<Items>(a) + reinterpret_cast<Items>(b));
}

namespace sixteen {
template <int kBytes, std::size_t... I>
Sixteen shift_up(Sixteen v, std::index_sequence<I...> /*places*/) {
  return __builtin_shufflevector(Sixteen{}, v, static_cast<int>(16 - kBytes + I)...);
}
template <int kBytes, std::size_t... I>
Sixteen repeat_last(Sixteen v, std::index_sequence<I...> /*places*/) {
  return __builtin_shufflevector(v, v, static_cast<int>(16 - kBytes + I % kBytes)...);
}
/// Units of kBytes of `a` and `b` in turn, from unit `from` on.
template <int kBytes, int kFrom, std::size_t... I>
Sixteen zip(Sixteen a, Sixteen b, std::index_sequence<I...> /*places*/) {
  return __builtin_shufflevector(
      a, b, static_cast<int>((I / kBytes % 2) * 16 + kFrom + I / (2 * kBytes) * kBytes + I % kBytes)...);
}
using Places = std::make_index_sequence<16>;
}  // namespace sixteen

/// The last item, in every place.  Small ones are doubled first: g++ 12 makes a loop over bytes of the shuffle of two.
template <class T, int kBytes = sizeof(T)>
Sixteen repeat_last(Sixteen v) {
  if constexpr (kBytes < 4)
    return repeat_last<T, 2 * kBytes>(sixteen::zip<kBytes, 8>(v, v, sixteen::Places()));
  else
    return sixteen::repeat_last<kBytes>(v, sixteen::Places());
}
/// The item, in every place.
template <class T>
Sixteen repeat(T item) {
  typedef T Items __attribute__((vector_size(16)));
  return reinterpret_cast<Sixteen>(Items{} + item);
}
/// Every item and those before it, as a sum.
template <class T, int kBytes = sizeof(T)>
Sixteen sum_sixteen(Sixteen v) {
  if constexpr (kBytes >= 16)
    return v;
  else
    return sum_sixteen<T, 2 * kBytes>(add_sixteen<T>(v, sixteen::shift_up<kBytes>(v, sixteen::Places())));
}

/// Sixteen items whose bytes lie apart, the lowest of all items first, as they lie in memory one after another.
template <std::size_t N>
std::array<Sixteen, N> interleave(const std::array<Sixteen, N>& parts) {
  if constexpr (N == 1) {
    return parts;
  } else {
    constexpr int kHalf = N / 2;
    std::array<Sixteen, N / 2> low, high;
    for (std::size_t i = 0; i < N / 2; ++i) {
      low[i] = parts[i];
      high[i] = parts[N / 2 + i];
    }
    low = interleave(low);
    high = interleave(high);
    std::array<Sixteen, N> whole;
    for (std::size_t i = 0; i < N / 2; ++i) {
      whole[2 * i] = sixteen::zip<kHalf, 0>(low[i], high[i], sixteen::Places());
      whole[2 * i + 1] = sixteen::zip<kHalf, 8>(low[i], high[i], sixteen::Places());
    }
    return whole;
  }
}

}  // namespace penstock::tiff

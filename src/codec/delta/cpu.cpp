#include <algorithm>
#include <array>

#include "codec/astype/cast.hpp"
#include "codec/delta/delta.hpp"

namespace penstock {
namespace {

/// Unsigned for integers, whose overflow wraps; float for Half.
template <class T>
auto widened(T x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::make_unsigned_t<T>>(x);
  else
    return static_cast<Wide<T>>(x);
}

/// out[i] = in[i] - in[i - parts] for i in [begin, end), where in[-1] and the like are absent.
template <class T>
void differences(const std::byte* in, std::byte* out, std::size_t begin, std::size_t end, std::size_t parts) {
  std::size_t i = begin;
  for (; i < end && i < parts; ++i) store_number(out + (i - begin) * sizeof(T), load_number<T>(in + i * sizeof(T)));
  for (; i < end; ++i) {
    const T now = load_number<T>(in + i * sizeof(T));
    const T before = load_number<T>(in + (i - parts) * sizeof(T));
    store_number(out + (i - begin) * sizeof(T), static_cast<T>(widened(now) - widened(before)));
  }
}

/// With NaN on both sides the first is kept, as on devices (float_sums.hpp): compilers take them in either order.
template <class T>
T add(T sum, T x) {
  const auto a = widened(sum), b = widened(x);
  if constexpr (std::is_floating_point_v<decltype(a + b)>)
    return static_cast<T>(with_nan_of(a + b, a, b));
  else
    return static_cast<T>(a + b);
}

/// Running sums of `count` scalars in place; `sums` carries the last ones of each part from block to block.
template <class T>
void running_sums(std::byte* at, std::size_t count, std::size_t parts, std::array<T, 2>& sums) {
  if (parts == 1) {
    T sum = sums[0];
    for (std::size_t i = 0; i < count; ++i) {
      sum = add(sum, load_number<T>(at + i * sizeof(T)));
      store_number(at + i * sizeof(T), sum);
    }
    sums[0] = sum;
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    T& sum = sums[i % 2];
    sum = add(sum, load_number<T>(at + i * sizeof(T)));
    store_number(at + i * sizeof(T), sum);
  }
}

template <class Sum>
void decode_blocks(const DeltaNumbers& delta, const std::byte* in, std::byte* out, std::size_t count, Number sum) {
  const CastFunction widen = cast_function(delta.encoded, sum);
  const CastFunction narrow = cast_function(sum, delta.decoded);
  const std::size_t in_size = size_of(delta.encoded);
  const std::size_t out_size = size_of(delta.decoded);
  std::array<std::byte, kFilterBlock * sizeof(Sum)> block;
  // -0.0 changes no first element, 0.0 would change -0.0.
  constexpr Sum kNeutral = static_cast<Sum>(-0.0F);
  std::array<Sum, 2> sums = {kNeutral, kNeutral};
  for (std::size_t i = 0; i < count; i += kFilterBlock) {
    const std::size_t n = std::min(kFilterBlock, count - i);
    // Sums that are already of the decoded type are made where they belong.
    std::byte* at = sum == delta.decoded ? out + i * out_size : block.data();
    widen(in + i * in_size, at, n);
    running_sums(at, n, delta.parts, sums);
    if (at == block.data()) narrow(at, out + i * out_size, n);
  }
}

}  // namespace

Number DeltaNumbers::sum_type() const {
  return is_float(decoded) || is_float(encoded) ? promote(decoded, encoded) : decoded;
}

void DeltaNumbers::encode(const std::byte* in, std::byte* out, std::size_t count) const {
  with_type(decoded, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, Boolean>) {
      if (decoded == encoded) return differences<T>(in, out, 0, count, parts);
      const CastFunction narrow = cast_function(decoded, encoded);
      std::array<std::byte, kFilterBlock * sizeof(T)> block;
      for (std::size_t i = 0; i < count; i += kFilterBlock) {
        const std::size_t n = std::min(kFilterBlock, count - i);
        differences<T>(in, block.data(), i, i + n, parts);
        narrow(block.data(), out + i * size_of(encoded), n);
      }
    }
  });
}

void DeltaNumbers::decode(const std::byte* in, std::byte* out, std::size_t count) const {
  const Number sum = sum_type();
  with_type(sum, [&](auto tag) {
    using Sum = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<Sum, Boolean>) decode_blocks<Sum>(*this, in, out, count, sum);
  });
}

}  // namespace penstock

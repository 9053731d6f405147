#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "codec/fixedscaleoffset/fixedscaleoffset.hpp"

namespace penstock {
namespace {

using Block = std::array<std::byte, kFilterBlock * sizeof(double)>;

/// The number as an operand of an array of T.
template <class T>
T as_operand(const PythonNumber& number) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(number.integer);
  else
    return static_cast<T>(number.value);
}

/// x = f(x, number) on `count` numbers of T in place; integers wrap, Half is rounded from float after each operation.
template <class T, class F>
void each(std::byte* at, std::size_t count, const PythonNumber& number, F f) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::conditional_t<sizeof(T) < 4, std::uint32_t, std::make_unsigned_t<T>>;  // no int overflow
    const auto operand = static_cast<Unsigned>(as_operand<T>(number));
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const x = at + i * sizeof(T);
      store_number(x, static_cast<T>(f(static_cast<Unsigned>(load_number<T>(x)), operand)));
    }
  } else if constexpr (!std::is_same_v<T, Boolean>) {
    const auto operand = static_cast<Wide<T>>(as_operand<T>(number));
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const x = at + i * sizeof(T);
      store_number(x, static_cast<T>(f(static_cast<Wide<T>>(load_number<T>(x)), operand)));
    }
  }
}

template <class F>
void each_of(Number type, std::byte* at, std::size_t count, const PythonNumber& number, F f) {
  with_type(type, [&](auto tag) { each<typename decltype(tag)::type>(at, count, number, f); });
}

/// np.around: the nearest whole number, halves to the even one (the default rounding mode).
void round_all(Number type, std::byte* at, std::size_t count) {
  if (!is_float(type)) return;
  each_of(type, at, count, {}, [](auto x, auto) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return std::nearbyint(x);
    else
      return x;
  });
}

/// For types that are not integers only.
struct Divide {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return x / y;
    else
      return x;
  }
};

}  // namespace

bool PythonNumber::fits(Number number) const {
  if (!is_int) return false;
  if (number == Number::u8) return value >= 0;
  return with_type(number, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, std::uint64_t>)
      return value < 0x1p63 && integer >= static_cast<std::int64_t>(std::numeric_limits<T>::min()) &&
             integer <= static_cast<std::int64_t>(std::numeric_limits<T>::max());
    else
      return false;
  });
}

Number ScaleOffset::difference_type() const { return is_float(decoded) || offset.is_int ? decoded : Number::f8; }

Number ScaleOffset::product_type() const {
  const Number difference = difference_type();
  return is_float(difference) || scale.is_int ? difference : Number::f8;
}

Number ScaleOffset::decode_type() const { return is_float(encoded) ? encoded : Number::f8; }

void ScaleOffset::encode(const std::byte* in, std::byte* out, std::size_t count) const {
  const Number difference = difference_type();
  const Number product = product_type();
  const CastFunction to_difference = cast_function(decoded, difference);
  const CastFunction to_product = cast_function(difference, product);
  const CastFunction to_encoded = cast_function(product, encoded);
  Block a;
  Block b;
  for (std::size_t i = 0; i < count; i += kFilterBlock) {
    const std::size_t n = std::min(kFilterBlock, count - i);
    to_difference(in + i * size_of(decoded), a.data(), n);
    each_of(difference, a.data(), n, offset, [](auto x, auto y) { return x - y; });
    to_product(a.data(), b.data(), n);
    each_of(product, b.data(), n, scale, [](auto x, auto y) { return x * y; });
    round_all(product, b.data(), n);
    to_encoded(b.data(), out + i * size_of(encoded), n);
  }
}

void ScaleOffset::decode(const std::byte* in, std::byte* out, std::size_t count) const {
  const Number type = decode_type();
  const CastFunction to_type = cast_function(encoded, type);
  const CastFunction to_decoded = cast_function(type, decoded);
  Block block;
  for (std::size_t i = 0; i < count; i += kFilterBlock) {
    const std::size_t n = std::min(kFilterBlock, count - i);
    to_type(in + i * size_of(encoded), block.data(), n);
    each_of(type, block.data(), n, scale, Divide{});
    each_of(type, block.data(), n, offset, [](auto x, auto y) { return x + y; });
    to_decoded(block.data(), out + i * size_of(decoded), n);
  }
}

}  // namespace penstock

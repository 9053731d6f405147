#include "codec/astype/number.hpp"

#include <algorithm>

#include "codec/astype/cast.hpp"

namespace penstock {
namespace {

template <class T>
constexpr bool kFloating = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

template <class To, class F>
To float_to_integer(F x) {
  if constexpr (std::is_same_v<To, std::uint64_t>)
    return to_unsigned<std::int64_t>(x);
  else if constexpr (std::is_same_v<To, std::uint32_t>)
    return to_unsigned<std::int32_t>(x);
  else if constexpr (sizeof(To) == 8)
    return to_signed<std::int64_t>(x);
  else
    return static_cast<To>(to_signed<std::int32_t>(x));
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, Boolean>)
    return convert<To>(static_cast<std::uint8_t>(x.value != 0));
  else if constexpr (std::is_same_v<To, Boolean>)
    return Boolean{static_cast<std::uint8_t>(static_cast<Wide<From>>(x) != 0)};
  else if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, std::uint32_t>)
    return static_cast<To>(to_signed<std::int64_t>(static_cast<float>(x)));
  else if constexpr (std::is_same_v<From, Half> && !kFloating<To>)
    return float_to_integer<To>(static_cast<float>(x));
  else if constexpr (kFloating<From> && !kFloating<To>)
    return float_to_integer<To>(x);
  else if constexpr (std::is_same_v<To, Half> && !kFloating<From>)
    return static_cast<Half>(static_cast<float>(x));  // exact wherever the result is finite
  else
    return static_cast<To>(x);
}

template <class From, class To>
void cast_all(const std::byte* in, std::byte* out, std::size_t count) {
  if constexpr (std::is_same_v<From, To>) {
    if (count > 0) std::memcpy(out, in, count * sizeof(To));
  } else {
    for (std::size_t i = 0; i < count; ++i)
      store_number(out + i * sizeof(To), convert<To>(load_number<From>(in + i * sizeof(From))));
  }
}

}  // namespace

std::optional<Scalars> scalars_of(const DType& dtype) {
  const auto of_size = [&](Number one, Number two, Number four, Number eight) -> std::optional<Scalars> {
    switch (dtype.size_bytes) {
      case 1: return Scalars{one, 1};
      case 2: return Scalars{two, 1};
      case 4: return Scalars{four, 1};
      case 8: return Scalars{eight, 1};
      default: return std::nullopt;
    }
  };
  switch (dtype.kind) {
    case Kind::boolean: return Scalars{Number::b1, 1};
    case Kind::signed_int: return of_size(Number::i1, Number::i2, Number::i4, Number::i8);
    case Kind::unsigned_int: return of_size(Number::u1, Number::u2, Number::u4, Number::u8);
    case Kind::floating: return of_size(Number::f8, Number::f2, Number::f4, Number::f8);
    case Kind::complex: return Scalars{dtype.size_bytes == 8 ? Number::f4 : Number::f8, 2};
    default: return std::nullopt;
  }
}

std::size_t size_of(Number number) {
  return with_type(number, [](auto tag) { return sizeof(typename decltype(tag)::type); });
}

bool is_float(Number number) { return number >= Number::f2; }

Number promote(Number a, Number b) {
  if (a > b) std::swap(a, b);
  if (a == b || a == Number::b1) return b;
  if (is_float(b)) {
    if (is_float(a)) return b;
    const Number least = size_of(a) == 1 ? Number::f2 : size_of(a) == 2 ? Number::f4 : Number::f8;
    return std::max(b, least);
  }
  const auto is_signed = [](Number n) {
    return n == Number::i1 || n == Number::i2 || n == Number::i4 || n == Number::i8;
  };
  if (is_signed(a) == is_signed(b) || (is_signed(b) && size_of(b) > size_of(a))) return b;
  // An unsigned type that is not smaller than the signed one: the next signed type holds both, float64 past that.
  switch (size_of(b)) {
    case 1: return Number::i2;
    case 2: return Number::i4;
    case 4: return Number::i8;
    default: return Number::f8;
  }
}

CastFunction cast_function(Number from, Number to) {
  return with_type(from, [&](auto f) {
    return with_type(
        to, [](auto t) -> CastFunction { return cast_all<typename decltype(f)::type, typename decltype(t)::type>; });
  });
}

}  // namespace penstock

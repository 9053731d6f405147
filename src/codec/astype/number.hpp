// Plain numbers: the element types that the numcodecs filters compute with, and conversion between them as NumPy does.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "penstock/dtype.hpp"

namespace penstock {

/// Scalar types, named as in NumPy.
enum class Number : std::uint8_t { b1, i1, u1, i2, u2, i4, u4, i8, u8, f2, f4, f8 };

using Half = _Float16;
/// One byte that means false when it is 0.
struct Boolean {
  std::uint8_t value;
};

/// A data type as scalars: complex numbers are two.
struct Scalars {
  Number number = Number::u1;
  std::uint32_t count = 1;
  [[nodiscard]] bool operator==(const Scalars&) const = default;
};

/// nullopt: not made of plain numbers (bytes, text, bfloat16, times, structures).
std::optional<Scalars> scalars_of(const DType& dtype);
std::size_t size_of(Number number);
bool is_float(Number number);
/// The type in which NumPy 2 computes with one operand of each type (np.result_type).
Number promote(Number a, Number b);

/// Converts `count` numbers; `in` and `out` do not overlap and need no alignment.
using CastFunction = void (*)(const std::byte* in, std::byte* out, std::size_t count);
/// Conversion as ndarray.astype does it: integers wrap, floats go toward zero, only 0 becomes false.  Floats outside
/// the integer's range, and NaN, give what NumPy 2 gives on x86-64, but on every machine: through int32 for integers of
/// 1, 2 and 4 bytes, through int64 for 8 bytes, where what does not fit becomes the least value; uint32 and uint64 move
/// the upper half of their range down by 2^31 or 2^63 first (float16 to uint32 goes through int64).
CastFunction cast_function(Number from, Number to);

template <class T>
struct TypeTag {
  using type = T;
};

/// f(TypeTag<T>{}) with the C++ type of `number`.
template <class F>
decltype(auto) with_type(Number number, F&& f) {
  switch (number) {
    case Number::b1: return f(TypeTag<Boolean>{});
    case Number::i1: return f(TypeTag<std::int8_t>{});
    case Number::u1: return f(TypeTag<std::uint8_t>{});
    case Number::i2: return f(TypeTag<std::int16_t>{});
    case Number::u2: return f(TypeTag<std::uint16_t>{});
    case Number::i4: return f(TypeTag<std::int32_t>{});
    case Number::u4: return f(TypeTag<std::uint32_t>{});
    case Number::i8: return f(TypeTag<std::int64_t>{});
    case Number::u8: return f(TypeTag<std::uint64_t>{});
    case Number::f2: return f(TypeTag<Half>{});
    case Number::f4: return f(TypeTag<float>{});
    case Number::f8: break;
  }
  return f(TypeTag<double>{});
}

template <class T>
T load_number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store_number(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

/// The type in which one operation on T is done before it is rounded back to T: float for Half, as in NumPy.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, Half>, float, T>;

}  // namespace penstock

// The one switch over element types.
#pragma once
#include <cstdint>

#include "penstock/dtype.hpp"

namespace penstock {

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls f(TypeTag<T>) with the C++ type of an element type; false: operators do not take it.
template <class F>
bool with_type(const DType& dtype, const F& f) {
  const auto by_size = [&](auto t1, auto t2, auto t4, auto t8) {
    switch (dtype.size_bytes) {
      case 1: return f(t1), true;
      case 2: return f(t2), true;
      case 4: return f(t4), true;
      case 8: return f(t8), true;
      default: return false;
    }
  };
  using namespace std;  // the integer types
  switch (dtype.kind) {
    case Kind::boolean: return f(TypeTag<bool>()), true;
    case Kind::unsigned_int:
      return by_size(TypeTag<uint8_t>(), TypeTag<uint16_t>(), TypeTag<uint32_t>(), TypeTag<uint64_t>());
    case Kind::signed_int:
      return by_size(TypeTag<int8_t>(), TypeTag<int16_t>(), TypeTag<int32_t>(), TypeTag<int64_t>());
    case Kind::floating:
      if (dtype.size_bytes == 4) return f(TypeTag<float>()), true;
      if (dtype.size_bytes == 8) return f(TypeTag<double>()), true;
      return false;
    default: return false;
  }
}

/// Whether operators take such elements.
inline bool is_operand(const DType& dtype) {
  return with_type(dtype, [](auto) {});
}

}  // namespace penstock

// Reversing the byte order of elements.
#pragma once
#include "penstock/bytes.hpp"
#include "penstock/dtype.hpp"

namespace penstock {

/// Reverses the byte order of every unit of every element in place.  A structure's fields each have their own unit.
/// data: whole elements of `dtype`.
void swap_units(ByteSpan data, const DType& dtype);
/// The same from `in` to `out` (equal sizes, not overlapping).
void swap_units(ByteView in, ByteSpan out, const DType& dtype);
/// Whether the byte order matters at all for elements of `dtype`.
[[nodiscard]] bool has_byte_order(const DType& dtype);

}  // namespace penstock

// Fill values: one element as JSON.
#pragma once
#include <vector>

#include "core/json.hpp"
#include "penstock/bytes.hpp"
#include "penstock/dtype.hpp"

namespace penstock {

/// How a document spells fill values.
struct FillStyle {
  int zarr_format = 3;
  bool raw_as_base64 = false;     ///< raw bytes as base64 (v2, `raw_bytes`), not as a list of numbers (`r*`)
  bool struct_as_base64 = false;  ///< structures as base64 of the packed bytes (v2, `structured`), not as an object
  Json endian = "little";         ///< byte order of those packed bytes: "little", "big", or a list of one per field
};

/// Writes.  `element`: dtype.size_bytes bytes in native order, or the value's own bytes for variable length.
/// Errors: invalid_argument (wrong size, not a code point), unsupported (a NaN with a payload in zarr v2).
Result<Json> fill_to(const DType& dtype, ByteView element, const FillStyle& style);
/// Reads; accepts every form that the zarr versions write, whatever the style says about raw and struct.
/// Errors: invalid_metadata saying what is accepted.
Result<std::vector<std::byte>> fill_from(const DType& dtype, const Json& value, const FillStyle& style);

/// Turns one element from native order into `endian` (as in FillStyle), or back.
void reorder_element(const DType& dtype, const Json& endian, ByteSpan element);

}  // namespace penstock

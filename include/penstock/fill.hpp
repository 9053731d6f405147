// One element as JSON, as zarr writes fill values.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/bytes.hpp"
#include "penstock/dtype.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// One element as zarr v3 writes fill values in JSON, whatever the format of its array.  `element`: dtype.size_bytes
/// bytes in native order; of a variable length, the value's own bytes.  Errors: unsupported, invalid_metadata.
PENSTOCK_API Result<std::string> fill_to_json(const DType& dtype, ByteView element);
/// The reverse.  Errors: invalid_metadata (no JSON, or no value of `dtype`).
PENSTOCK_API Result<std::vector<std::byte>> fill_from_json(const DType& dtype, std::string_view json);

}  // namespace penstock

// NumPy type strings, as zarr v2 metadata and numcodecs configurations spell data types.
#pragma once
#include <string_view>

#include "penstock/dtype.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// What a NumPy type string says.
struct NumpyDType {
  DType dtype;
  bool big_endian = false;  ///< multi-byte units are stored with the most significant byte first
  bool is_object = false;   ///< "|O": what the elements are is said elsewhere (zarr v2: by the first filter); dtype is
                            ///< vlen_bytes until then
};

/// Reads one type string of the array interface: "<f4", ">i2", "|b1", "|u1", "|S10", "<U5", "<M8[25s]", "<m8[ns]",
/// "|V8" (raw), "|O"; also what np.dtype() takes for the same types: without a byte order or with "=" (native: "i2"),
/// and by name ("int32", "datetime64[ns]", "bfloat16").  Structured types are lists, not strings, and are not read
/// here.
/// Errors: invalid_metadata (no such type; "|" before a type of several bytes; a size that does not exist),
/// unsupported ("<f16", "<c32", "|S0": NumPy has them, penstock does not).
/// Source: https://numpy.org/doc/stable/reference/arrays.interface.html
Result<NumpyDType> parse_numpy_dtype(std::string_view text);

}  // namespace penstock

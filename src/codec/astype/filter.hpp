// What the numcodecs filters share: data types in configurations, and elements seen as another type of the same bytes.
#pragma once
#include <string>
#include <string_view>

#include "codec/astype/number.hpp"
#include "codec/astype/scalar.hpp"
#include "codec/codec.hpp"
#include "core/json_fwd.hpp"

namespace penstock {

/// Elements handled at a time, so that what lies between two steps stays in the first cache.
inline constexpr std::size_t kFilterBlock = 1024;

/// A data type member of a filter's configuration, with the way it is written back.
struct FilterType {
  DType dtype;
  Scalars scalars;
  std::string text;            ///< NumPy type string as given ("<f4"), or made from the default
  bool foreign_order = false;  ///< units of several bytes, in the order that is not the machine's
};

/// The type as devices convert it.
ScalarType device_scalar(Number number);

/// Reads `key`; absent or null: `fallback`.
/// Errors: invalid_metadata naming the member, unsupported (not a plain number).
Result<FilterType> filter_type(const Json& configuration, std::string_view key, const DType& fallback);

/// The chunk with its elements seen as `type`, as ndarray.view does: the same bytes, another type.
/// Errors: unsupported when the bytes cannot be seen so (another byte order unit, no whole number of elements).
Result<ChunkSpec> view_as(const ChunkSpec& chunk, const DType& type);
/// The chunk with elements of `type`, in number as before.  The fill value is converted.
/// Errors: unsupported (a fill value that cannot be).
Result<ChunkSpec> with_dtype(const ChunkSpec& chunk, const DType& type);
/// zarr-python stores what a filter gives in the order that the codec "bytes" behind it says.  A filter whose stored
/// type says the same order gives what one with a type of the machine's order gives: its type is replaced by that.
/// Where the two disagree, versions of zarr-python read different things, and the type stays, to be refused by the
/// filter.
void take_stored_order(std::string_view filter, const CodecSpec& behind, Json& configuration);
/// unsupported when the type is of the other byte order: chunks of zarr v3 reach a filter in the machine's order, and
/// zarr-python does not read back what it writes by way of another.  (In v2 the order is part of the array's type;
/// there it is taken out before a filter is made.)
Status need_native_order(const FilterType& type, std::string_view key);
/// corrupt_data unless the sizes are equal.
Status expect_size(std::uint64_t found, std::uint64_t expected);

}  // namespace penstock

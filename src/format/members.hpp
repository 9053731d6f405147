// Reading the members that all formats have: every error says which member is wrong.
#pragma once
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "penstock/dataset.hpp"

namespace penstock::metadata {

/// "where: what"
Error invalid(std::string_view where, std::string_view what);
Error unsupported(std::string_view where, std::string_view what);
/// The beginning of a value, for messages.
std::string shown(const Json& value);

/// Whether an extent of 0 is allowed.
enum class Extents : std::uint8_t { any, positive };
/// A list of extents, each at most 2^63-1.  Errors: invalid_metadata, unsupported (more than kMaxRank dimensions).
Result<Shape> parse_shape(const Json& value, std::string_view where, Extents extents);
/// Some writers give an empty dimension chunks of 0; there are no chunks then, so 1 is put in their place.
/// Errors: invalid_metadata for a 0 along any other dimension.
Status allow_zero_chunks_of_empty(Dataset& dataset, std::string_view chunk_member);
/// Checks a dataset before it is written.  Errors: invalid_metadata naming the member.
Status check_dataset(const Dataset& dataset);
/// Checks what several members say together: ranks agree, one chunk fits in 63 bits.
Status check_chunks(const Dataset& dataset, std::string_view shape_member, std::string_view chunk_member);
/// A member that must be an object, as text; absent or null: "{}".
Result<std::string> object_text(const Json& parent, std::string_view key);
/// Names of dimensions: a list of strings and nulls, one per dimension.
Result<std::vector<std::optional<std::string>>> parse_names(const Json& value, std::string_view where,
                                                            std::size_t rank);

}  // namespace penstock::metadata

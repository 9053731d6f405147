// JSON: nlohmann-json with member order kept, behind strict limits.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Parses one JSON document.  Bare NaN, Infinity and -Infinity, which Python writes, are the numbers of those names.
/// Errors: invalid_metadata with the byte position: not JSON, deeper than 64 levels, a key twice in one object, not
/// UTF-8.
PENSTOCK_API Result<Json> parse_json(std::string_view text);

/// How numbers that JSON has no word for are written: as Python does (NaN, Infinity, -Infinity), which metadata of zarr
/// need, or as strings of these names, which every JSON parser reads.
enum class NonFinite : std::uint8_t { bare, quoted };

/// Text of a document: indent < 0 gives one line.
PENSTOCK_API std::string dump_json(const Json& json, int indent = -1, NonFinite non_finite = NonFinite::bare);

/// Member access with errors that name the member: `where` is put in front ("codecs[1].configuration").
/// Errors: invalid_metadata (absent or of another type).
PENSTOCK_API Result<const Json*> member(const Json& object, std::string_view key);
PENSTOCK_API Result<std::string> string_member(const Json& object, std::string_view key);
/// A whole number in [low, high].  1.0 is accepted, 1.5, true and "1" are not.
PENSTOCK_API Result<std::int64_t> int_member(const Json& object, std::string_view key, std::int64_t low,
                                             std::int64_t high);
/// An unsigned whole number of a JSON value.  Errors: invalid_metadata naming `what`.
PENSTOCK_API Result<std::uint64_t> to_u64(const Json& value, std::string_view what);
/// Refuses members other than `known`.  Errors: invalid_metadata naming the first unknown member.
PENSTOCK_API Status only_members(const Json& object, std::initializer_list<std::string_view> known);

}  // namespace penstock

// What formats need to read nodes: documents and names in a store.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "format/entry.hpp"
#include "format/format.hpp"
#include "penstock/store.hpp"

namespace penstock::metadata {

/// Names that begin so are the library's own: a copy that is under way, a directory that will replace another.
inline constexpr std::string_view kOwnNames = ".penstock-";
/// Lies in a node that is being copied until all of it is there.
inline constexpr std::string_view kCopyMarker = ".penstock-copy.json";

/// "a" + "b" -> "a/b"; "" + "b" -> "b".
std::string child(std::string_view path, std::string_view name);
/// How messages call a key of a store.
std::string where(const Store& store, std::string_view key);
/// A document below `path`; nullopt when it is absent.  Errors: those of the store, invalid_metadata (huge).
Result<std::optional<std::string>> read_text(const Store& store, std::string_view path, std::string_view name);

}  // namespace penstock::metadata

// Keys: checks, and the small helpers that stores share.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "penstock/bytes.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// As check_key, but the empty prefix (the whole store) is fine.
Status check_prefix(std::string_view prefix);
/// "a" + "b" -> "a/b"; an empty part leaves the other.
std::string join_key(std::string_view prefix, std::string_view name);
/// "a/b" -> "a"; "a" -> "".
std::string_view directory_of(std::string_view key);
/// Error of a change to a store that was opened for reading.
Error read_only_error(std::string_view url);
/// Puts a key between quotes, bytes that are not printable as \xNN, cut at 200 bytes: fit for messages.
std::string quoted_key(std::string_view key);
/// The parts of a value as one.  Errors: out_of_memory.
Result<Bytes> joined(std::span<const ByteView> parts);

}  // namespace penstock

// Small things that every codec needs: errors, and configuration members with defaults.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "codec/entry.hpp"

namespace penstock {

/// corrupt_data.
Error corrupt(std::string message);
/// corrupt_data: "... at byte N".
Error corrupt_at(std::string_view message, std::uint64_t byte);
/// invalid_metadata.
Error bad_configuration(std::string message);

/// A whole number in [low, high]; absent or null: `fallback`.  Errors: invalid_metadata naming the member.
Result<std::int64_t> int_or(const Json& configuration, std::string_view key, std::int64_t fallback, std::int64_t low,
                            std::int64_t high);
/// true or false; absent or null: `fallback`.  Errors: invalid_metadata naming the member.
Result<bool> bool_or(const Json& configuration, std::string_view key, bool fallback);
/// A string; absent or null: `fallback`.  Errors: invalid_metadata naming the member.
Result<std::string> string_or(const Json& configuration, std::string_view key, std::string_view fallback);

/// Parsed `spec.configuration`.  Errors: invalid_metadata.
Result<Json> configuration_of(const CodecSpec& spec);

/// A v2 object with `id` and these members of `spec`, in this order.  Errors: invalid_metadata.
Result<Json> v2_object(std::string_view id, const CodecSpec& spec);

}  // namespace penstock

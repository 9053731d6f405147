#include "codec/support.hpp"
#include "core/json.hpp"

#include <fmt/format.h>

namespace penstock {
namespace {

/// The member when it is there and not null.
const Json* present(const Json& configuration, std::string_view key) {
  if (!configuration.is_object()) return nullptr;
  const auto it = configuration.find(std::string(key));
  return it == configuration.end() || it->is_null() ? nullptr : &*it;
}

}  // namespace

Error corrupt(std::string message) { return {ErrorCode::corrupt_data, std::move(message)}; }

Error corrupt_at(std::string_view message, std::uint64_t byte) {
  return corrupt(fmt::format("{} at byte {}", message, byte));
}

Error bad_configuration(std::string message) { return {ErrorCode::invalid_metadata, std::move(message)}; }

Result<std::int64_t> int_or(const Json& configuration, std::string_view key, std::int64_t fallback, std::int64_t low,
                            std::int64_t high) {
  if (present(configuration, key) == nullptr) return fallback;
  return int_member(configuration, key, low, high);
}

Result<bool> bool_or(const Json& configuration, std::string_view key, bool fallback) {
  const Json* value = present(configuration, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean())
    return bad_configuration(fmt::format("\"{}\" must be true or false, is {}", key, value->type_name()));
  return value->get<bool>();
}

Result<std::string> string_or(const Json& configuration, std::string_view key, std::string_view fallback) {
  if (present(configuration, key) == nullptr) return std::string(fallback);
  return string_member(configuration, key);
}

Result<Json> configuration_of(const CodecSpec& spec) {
  PENSTOCK_ASSIGN(Json configuration, parse_json(spec.configuration));
  if (!configuration.is_object()) return bad_configuration("the configuration must be a JSON object");
  return configuration;
}

Result<Json> v2_object(std::string_view id, const CodecSpec& spec) {
  PENSTOCK_ASSIGN(const Json configuration, configuration_of(spec));
  Json object = Json::object();
  object["id"] = id;
  for (const auto& [key, value] : configuration.items()) object[key] = value;
  return object;
}

}  // namespace penstock

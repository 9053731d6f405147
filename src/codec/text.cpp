// Codecs as people write them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/list.hpp"
#include "core/json.hpp"
#include "core/suggest.hpp"
#include "penstock/codec.hpp"

namespace penstock {
namespace {

Error bad(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

/// "3" is a number, "true" a truth value, "lz4" a string: what JSON reads is JSON.
Json value_of(const std::string& text) {
  const auto json = parse_json(text);
  return json && !json->is_structured() ? *json : Json(text);
}

/// "zstd:level=3,checksum=true"
Result<CodecSpec> short_form(const std::string& text) {
  const std::size_t colon = text.find(':');
  CodecSpec spec{text.substr(0, colon), "{}"};
  if (colon == std::string::npos) return spec;
  Json configuration = Json::object();
  for (std::size_t at = colon + 1; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      return bad(fmt::format("'{}' is no parameter; write NAME:KEY=VALUE,KEY=VALUE, e.g. zstd:level=3", part));
    configuration[part.substr(0, equals)] = value_of(part.substr(equals + 1));
    at = comma + 1;
  }
  spec.configuration = dump_json(configuration);
  return spec;
}

Result<CodecSpec> from_json(const Json& json) {
  if (json.is_string()) return CodecSpec{json.get<std::string>(), "{}"};
  PENSTOCK_ASSIGN(std::string name, string_member(json, "name"));
  const auto configuration = json.find("configuration");
  return CodecSpec{std::move(name), configuration == json.end() ? "{}" : dump_json(*configuration)};
}

const CodecEntry* find_any(const std::string& name) {
  const CodecEntry* entry = find_codec(name);
  return entry != nullptr ? entry : find_codec_v2(name);
}

std::vector<std::string> short_names() {
  std::vector<std::string> names = {"none"};
  for (const CodecEntry& e : codec_list()) names.emplace_back(e.v2_id.empty() ? e.name : e.v2_id);
  return names;
}

/// The codec by any of its names, with all its parameters written out.
Result<CodecSpec> complete(const CodecSpec& given, const DType& dtype) {
  const CodecEntry* entry = find_any(given.name);
  if (entry == nullptr) {
    const std::vector<std::string> known = compressor_names();
    return bad(fmt::format("no such codec.{} Known: {}.", did_you_mean(given.name, known), fmt::join(known, ", ")));
  }
  PENSTOCK_ASSIGN(const Json configuration, parse_json(given.configuration));
  PENSTOCK_ASSIGN(const AnyCodec made, entry->make(configuration, {{1}, dtype, {}}));
  const auto* codec = std::get_if<std::unique_ptr<BytesToBytes>>(&made);
  if (codec == nullptr)
    return bad(fmt::format("{} does not compress; only codecs from bytes to bytes fit here", entry->name));
  return (*codec)->spec();
}

Result<std::vector<CodecSpec>> parse(const std::string& text, const DType& dtype) {
  std::vector<CodecSpec> given;
  if (text.empty()) return bad("the codec is empty; 'none' stores chunks as they are");
  if (text == "none") return given;
  if (text.front() == '{' || text.front() == '[') {
    PENSTOCK_ASSIGN(const Json json, parse_json(text));
    for (const Json& one : json.is_array() ? json : Json::array({json})) {
      PENSTOCK_ASSIGN(CodecSpec spec, from_json(one));
      given.push_back(std::move(spec));
    }
  } else {
    PENSTOCK_ASSIGN(CodecSpec spec, short_form(text));
    given.push_back(std::move(spec));
  }
  for (CodecSpec& spec : given) {
    PENSTOCK_ASSIGN(spec, complete(spec, dtype));
  }
  return given;
}

}  // namespace

Result<std::vector<CodecSpec>> parse_codecs(const std::string& text, const DType& dtype) {
  auto codecs = parse(text, dtype);
  if (codecs) return codecs;
  // What is wrong was typed, whatever kind of error it is in a file.
  Error error(ErrorCode::invalid_argument, codecs.error().message());
  return std::move(error.set_hint(codecs.error().hint()));
}

std::vector<CodecNames> codec_names() {
  std::vector<CodecNames> names;
  for (const CodecEntry& e : codec_list())
    names.push_back({std::string(e.name), {e.aliases.begin(), e.aliases.end()}, std::string(e.v2_id)});
  return names;
}

std::vector<std::string> compressor_names() {
  std::vector<std::string> names = short_names();
  std::erase_if(names, [](const std::string& name) { return !parse(name, DType::uint8()); });
  return names;
}

}  // namespace penstock

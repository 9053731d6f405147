// Operators as people write them.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "ops/list.hpp"
#include "penstock/ops.hpp"

namespace penstock {
namespace {

/// "3" is a number, "true" a truth value, "lz4" a word: what JSON reads is JSON.
Json value_of(const std::string& text) {
  const auto json = parse_json(text);
  return json && !json->is_structured() ? *json : Json(text);
}

Json list_of(const std::string& text) {
  if (text.find(',') == std::string::npos) return value_of(text);
  Json list = Json::array();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) list.push_back(value_of(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return list;
}

}  // namespace

Result<OpCall> parse_op_call(std::string_view text) {
  OpCall call;
  Json arguments = Json::object();
  constexpr std::string_view blanks = " \t";
  for (std::size_t at = text.find_first_not_of(blanks); at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    const std::string word(text.substr(at, end - at));
    const std::size_t equals = word.find('=');
    if (call.name.empty()) {
      if (equals != std::string::npos) break;
      call.name = word;
    } else if (equals == std::string::npos || equals == 0) {
      return Error(ErrorCode::invalid_argument,
                   fmt::format("'{}' is no argument; write NAME KEY=VALUE ..., e.g. gaussian_filter sigma=2", word));
    } else if (!arguments.emplace(word.substr(0, equals), list_of(word.substr(equals + 1))).second) {
      return Error(ErrorCode::invalid_argument, fmt::format("{}: '{}' twice", call.name, word.substr(0, equals)));
    }
    at = text.find_first_not_of(blanks, end);
  }
  if (call.name.empty())
    return Error(ErrorCode::invalid_argument, fmt::format("'{}' names no operator", text))
        .set_hint("Write NAME KEY=VALUE ..., e.g. gaussian_filter sigma=2.");
  call.arguments = dump_json(arguments);
  return call;
}

std::vector<OpInfo> operators() {
  std::vector<OpInfo> infos;
  for (const OpEntry& e : op_list())
    infos.push_back({std::string(e.name), std::string(e.summary), std::string(e.arguments)});
  return infos;
}

}  // namespace penstock

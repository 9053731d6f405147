#include "codec/sharding/sharding_spec.hpp"

#include <fmt/format.h>

#include "codec/list.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

Result<Shape> parse_chunk_shape(const Json& configuration, std::size_t rank, const std::string& where) {
  const std::string name = where.empty() ? "\"chunk_shape\"" : where + ".chunk_shape";
  PENSTOCK_ASSIGN(const Json* list, member(configuration, "chunk_shape"));
  if (!list->is_array() || list->size() != rank)
    return bad_configuration(fmt::format("{} must hold {} extents, is {}", name, rank, dump_json(*list).substr(0, 80)));
  Shape shape;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::string one = where.empty() ? "an extent of " + name : fmt::format("{}[{}]", name, d);
    PENSTOCK_ASSIGN(const std::uint64_t extent, to_u64((*list)[d], one));
    if (extent == 0) return bad_configuration(one + " is 0");
    shape.push_back(extent);
  }
  return shape;
}

Result<ShardingSpec::IndexLocation> parse_location(const Json& configuration) {
  PENSTOCK_ASSIGN(const std::string text, string_or(configuration, "index_location", "end"));
  if (text == "end") return ShardingSpec::IndexLocation::end;
  if (text == "start") return ShardingSpec::IndexLocation::start;
  return bad_configuration(fmt::format("\"index_location\" must be \"start\" or \"end\", is \"{}\"", text));
}

}  // namespace

Result<ShardingSpec> ShardingSpec::parse(const Json& configuration, std::size_t rank, const std::string& where) {
  PENSTOCK_TRY(only_members(configuration, {"chunk_shape", "codecs", "index_codecs", "index_location"}));
  ShardingSpec spec;
  PENSTOCK_ASSIGN(spec.chunk_shape, parse_chunk_shape(configuration, rank, where));
  PENSTOCK_ASSIGN(spec.index_location, parse_location(configuration));
  PENSTOCK_ASSIGN(const Json* codecs, member(configuration, "codecs"));
  PENSTOCK_ASSIGN(spec.codecs, codecs_from_json(*codecs));
  if (const auto it = configuration.find("index_codecs"); it != configuration.end()) {
    PENSTOCK_ASSIGN_IN(spec.index_codecs, codecs_from_json(*it), "index_codecs");
  }
  return spec;
}

Result<std::optional<ShardingSpec>> ShardingSpec::find(std::span<const CodecSpec> codecs, std::size_t rank,
                                                       const std::string& where) {
  if (codecs.size() != 1 || codecs[0].name != kName) return std::optional<ShardingSpec>();
  PENSTOCK_ASSIGN_IN(const Json configuration, parse_json(codecs[0].configuration),
                     where.empty() ? std::string(kName) : where);
  PENSTOCK_ASSIGN(ShardingSpec spec, parse(configuration, rank, where));
  return std::optional(std::move(spec));
}

Result<Json> ShardingSpec::configuration() const {
  Json c = Json::object();
  c["chunk_shape"] = chunk_shape;
  PENSTOCK_ASSIGN(c["codecs"], codecs_to_json(codecs));
  PENSTOCK_ASSIGN(c["index_codecs"], codecs_to_json(index_codecs));
  c["index_location"] = index_location == IndexLocation::start ? "start" : "end";
  return c;
}

Result<CodecSpec> ShardingSpec::print() const {
  PENSTOCK_ASSIGN(const Json c, configuration());
  return CodecSpec{std::string(kName), dump_json(c)};
}

std::vector<std::pair<const char*, Json*>> sharding_codec_lists(std::string_view codec, Json& configuration) {
  std::vector<std::pair<const char*, Json*>> lists;
  if (codec != ShardingSpec::kName || !configuration.is_object()) return lists;
  for (const char* name : {"codecs", "index_codecs"})
    if (const auto it = configuration.find(name); it != configuration.end() && it->is_array())
      lists.emplace_back(name, &*it);
  return lists;
}

}  // namespace penstock

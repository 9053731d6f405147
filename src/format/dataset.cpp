// Members of Dataset and KeyEncoding.
#include "penstock/dataset.hpp"

#include "core/checked.hpp"
#include "core/json.hpp"
#include "format/members.hpp"

namespace penstock {

std::string KeyEncoding::key(std::span<const std::uint64_t> chunk) const {
  std::string key = kind == Kind::standard ? "c" : "";
  for (const std::uint64_t index : chunk) {
    if (!key.empty()) key += separator;
    key += std::to_string(index);
  }
  return key.empty() ? "0" : key;
}

std::optional<int> zarr_format(const FormatInfo& format) {
  return format.name == "zarr" ? std::optional(format.version) : std::nullopt;
}

Shape Dataset::grid_shape() const {
  Shape grid;
  for (std::size_t i = 0; i < shape.size(); ++i) grid.push_back(div_up(shape[i], chunk_shape[i]));
  return grid;
}

Result<Shape> Dataset::inner_chunk_shape() const {
  Shape inner = chunk_shape;
  // Only a shard with nothing around it can be read in parts; shards may hold shards.
  if (codecs.size() != 1 || codecs[0].name != "sharding_indexed") return inner;
  PENSTOCK_ASSIGN_IN(Json config, parse_json(codecs[0].configuration), "codecs[0].configuration");
  std::string where = "codecs[0].configuration";
  while (true) {
    PENSTOCK_ASSIGN_IN(const Json* extents, member(config, "chunk_shape"), where);
    PENSTOCK_ASSIGN(inner, metadata::parse_shape(*extents, where + ".chunk_shape", metadata::Extents::positive));
    if (inner.size() != chunk_shape.size())
      return metadata::invalid(where + ".chunk_shape", "has another number of dimensions than the array");
    const auto codecs_json = config.find("codecs");
    if (codecs_json == config.end() || !codecs_json->is_array() || codecs_json->size() != 1) return inner;
    const Json& only = codecs_json->front();
    if (!only.is_object() || only.value("name", Json()) != "sharding_indexed" || !only.contains("configuration"))
      return inner;
    where += ".codecs[0].configuration";
    config = Json(only.at("configuration"));
  }
}

}  // namespace penstock

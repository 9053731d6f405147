// zarr.json -> Dataset, GroupInfo.  https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html
#include <fmt/format.h>

#include <algorithm>

#include "codec/list.hpp"
#include "codec/sharding/sharding_spec.hpp"
#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/members.hpp"
#include "format/zarr/v3/zarr3.hpp"
#include "format/zarr/xarray.hpp"

namespace penstock::zarr3 {
namespace {

using metadata::invalid;
using metadata::shown;
using metadata::unsupported;

constexpr std::string_view kArrayMembers[] = {
    "zarr_format", "node_type", "shape",      "data_type",       "chunk_grid",           "chunk_key_encoding",
    "fill_value",  "codecs",    "attributes", "dimension_names", "storage_transformers",
};
constexpr std::string_view kGroupMembers[] = {"zarr_format", "node_type", "attributes"};

/// Members that are not known: kept when they need not be understood, else refused.
Result<Json> extra_members(const Json& document, std::span<const std::string_view> known) {
  Json extra = Json::object();
  for (const auto& [name, value] : document.items()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    // zarr-python once wrote "consolidated_metadata": null
    if (name == "consolidated_metadata" && value.is_null()) continue;
    if (!value.is_object() || value.value("must_understand", Json()) != Json(false))
      return unsupported(name, "an extension that penstock does not know, and that must be understood");
    extra[name] = value;
  }
  return extra;
}

Status parse_grid(const Json& document, Dataset& dataset) {
  PENSTOCK_ASSIGN(const Json* value, member(document, "chunk_grid"));
  PENSTOCK_ASSIGN(const Named grid, parse_named(*value, "chunk_grid"));
  if (grid.name != "regular")
    return unsupported("chunk_grid", fmt::format("the grid \"{}\"; penstock reads \"regular\"", grid.name));
  PENSTOCK_TRY_IN(only_members(grid.configuration, {"chunk_shape"}), "chunk_grid.configuration");
  PENSTOCK_ASSIGN_IN(const Json* extents, member(grid.configuration, "chunk_shape"), "chunk_grid.configuration");
  constexpr std::string_view where = "chunk_grid.configuration.chunk_shape";
  PENSTOCK_ASSIGN(dataset.chunk_shape, metadata::parse_shape(*extents, where, metadata::Extents::any));
  PENSTOCK_TRY(metadata::allow_zero_chunks_of_empty(dataset, where));
  return metadata::check_chunks(dataset, "shape", where);
}

Result<KeyEncoding> parse_keys(const Json& document) {
  PENSTOCK_ASSIGN(const Json* value, member(document, "chunk_key_encoding"));
  PENSTOCK_ASSIGN(const Named named, parse_named(*value, "chunk_key_encoding"));
  KeyEncoding keys;
  if (named.name == "v2")
    keys = {KeyEncoding::Kind::v2, '.'};
  else if (named.name != "default")
    return unsupported("chunk_key_encoding",
                       fmt::format("the encoding \"{}\"; penstock reads \"default\" and \"v2\"", named.name));
  PENSTOCK_TRY_IN(only_members(named.configuration, {"separator"}), "chunk_key_encoding.configuration");
  if (!named.configuration.contains("separator")) return keys;
  const Json& separator = named.configuration.at("separator");
  const auto* text = separator.get_ptr<const std::string*>();  // comparing the JSON value itself takes memory
  if (text == nullptr || (*text != "/" && *text != "."))
    return invalid("chunk_key_encoding.configuration.separator",
                   fmt::format("must be \"/\" or \".\", is {}", shown(separator)));
  keys.separator = text->front();
  return keys;
}

void complete_endian_of_all(Json& codecs);

/// zarr-python 3.1 states no byte order for structures and stores them little-endian.  Also inside shards.
void complete_endian(std::string_view name, Json& configuration) {
  if (name == "bytes" && !configuration.contains("endian")) configuration["endian"] = "little";
  for (const auto& [list, codecs] : sharding_codec_lists(name, configuration))
    if (std::string_view(list) == "codecs") complete_endian_of_all(*codecs);
}

void complete_endian_of_all(Json& codecs) {
  for (Json& inner : codecs) {
    if (is_text(inner, "bytes")) inner = Json::object({{"name", "bytes"}});
    if (!inner.is_object() || !inner.contains("name") || !inner["name"].is_string()) continue;
    if (!inner.contains("configuration")) inner["configuration"] = Json::object();
    if (inner["configuration"].is_object())
      complete_endian(inner["name"].get_ref<const std::string&>(), inner["configuration"]);
    if (inner["configuration"].empty()) inner.erase("configuration");
  }
}

Result<std::vector<CodecSpec>> parse_codecs(const Json& document, const DType& dtype) {
  PENSTOCK_ASSIGN(const Json* value, member(document, "codecs"));
  if (!value->is_array() || value->empty())
    return invalid("codecs", fmt::format("must be a list of one codec or more, is {}", shown(*value)));
  std::vector<CodecSpec> codecs;
  for (const Json& item : *value) {
    PENSTOCK_ASSIGN(Named named, parse_named(item, fmt::format("codecs[{}]", codecs.size())));
    if (const auto place = find_listed_order(named.name, named.configuration, fmt::format("codecs[{}]", codecs.size())))
      return invalid(*place, "must be \"little\" or \"big\"; a list is only for zarr v2");
    if (find_file_codec(named.name) != nullptr) return unknown_codec(named.name);
    if (dtype.kind == Kind::structure) complete_endian(named.name, named.configuration);
    codecs.push_back({named.name, dump_json(named.configuration)});
  }
  return codecs;
}

Status parse_dtype_and_fill(const Json& document, Dataset& dataset, Json& extra) {
  PENSTOCK_ASSIGN(const Json* data_type, member(document, "data_type"));
  PENSTOCK_ASSIGN(dataset.dtype, parse_dtype(*data_type, "data_type"));
  PENSTOCK_ASSIGN(const Json* fill, member(document, "fill_value"));
  PENSTOCK_ASSIGN_IN(dataset.fill, fill_from(dataset.dtype, *fill, {}), "fill_value");
  PENSTOCK_ASSIGN(const Json usual, write_dtype(dataset.dtype));
  if (usual != *data_type) extra["data_type"] = *data_type;  // another spelling, to be written back
  return {};
}

Result<NodeInfo> parse_array(const Json& document) {
  Dataset dataset;
  PENSTOCK_ASSIGN(Json extra, extra_members(document, kArrayMembers));
  if (const auto it = document.find("storage_transformers"); it != document.end() && !it->is_null()) {
    if (!it->is_array()) return invalid("storage_transformers", fmt::format("must be a list, is {}", shown(*it)));
    if (!it->empty()) {
      PENSTOCK_ASSIGN(const Named first, parse_named(it->front(), "storage_transformers[0]"));
      return unsupported("storage_transformers", fmt::format("penstock does not know \"{}\"", first.name));
    }
  }
  PENSTOCK_ASSIGN(const Json* shape, member(document, "shape"));
  PENSTOCK_ASSIGN(dataset.shape, metadata::parse_shape(*shape, "shape", metadata::Extents::any));
  PENSTOCK_TRY(parse_dtype_and_fill(document, dataset, extra));
  PENSTOCK_TRY(parse_grid(document, dataset));
  PENSTOCK_ASSIGN(dataset.placement, parse_keys(document));
  PENSTOCK_ASSIGN(dataset.codecs, parse_codecs(document, dataset.dtype));
  PENSTOCK_ASSIGN(dataset.attributes, metadata::object_text(document, "attributes"));
  dataset.nodata = missing_value(dataset.dtype, document.value("attributes", Json()));
  if (const auto it = document.find("dimension_names"); it != document.end() && !it->is_null()) {
    PENSTOCK_ASSIGN(const auto names, metadata::parse_names(*it, "dimension_names", dataset.rank()));
    dataset.dims = named_dimensions(names);
  }
  if (!extra.empty()) dataset.format.extra = dump_json(extra);
  return NodeInfo(std::move(dataset));
}

Result<NodeInfo> parse_group(const Json& document) {
  GroupInfo group;
  PENSTOCK_ASSIGN(const Json extra, extra_members(document, kGroupMembers));
  PENSTOCK_ASSIGN(group.attributes, metadata::object_text(document, "attributes"));
  if (!extra.empty()) group.format.extra = dump_json(extra);
  return NodeInfo(std::move(group));
}

}  // namespace

Result<Named> parse_named(const Json& value, std::string_view where) {
  Named named;
  if (value.is_string()) {
    named.name = value.get<std::string>();
  } else if (value.is_object()) {
    PENSTOCK_ASSIGN_IN(named.name, string_member(value, "name"), where);
    for (const auto& [key, item] : value.items()) {
      if (key == "name") continue;
      const std::string member_name = fmt::format("{}.{}", where, key);
      if (key == "configuration") {
        if (!item.is_object()) return invalid(member_name, fmt::format("must be an object, is {}", shown(item)));
        named.configuration = item;
      } else if (key == "must_understand") {
        if (!item.is_boolean()) return invalid(member_name, fmt::format("must be true or false, is {}", shown(item)));
      } else {
        return unsupported(member_name, "a member that penstock does not know");
      }
    }
  } else {
    return invalid(where, fmt::format("must be a name or an object with a name, is {}", shown(value)));
  }
  if (named.name.empty()) return invalid(where, "the name is empty");
  return named;
}

std::optional<std::string> find_listed_order(std::string_view codec, const Json& configuration,
                                             const std::string& where) {
  if (!configuration.is_object()) return std::nullopt;
  if (codec == "bytes" && configuration.value("endian", Json()).is_array()) return where + ".configuration.endian";
  Json copy = configuration;
  for (const auto& [list, codecs] : sharding_codec_lists(codec, copy))
    for (std::size_t i = 0; i < codecs->size(); ++i) {
      const Json& inner = (*codecs)[i];
      if (!inner.is_object() || !inner.contains("configuration") || !inner.contains("name")) continue;
      const Json& name = inner["name"];
      if (!name.is_string()) continue;
      auto place = find_listed_order(name.get_ref<const std::string&>(), inner["configuration"],
                                     fmt::format("{}.configuration.{}[{}]", where, list, i));
      if (place) return place;
    }
  return std::nullopt;
}

Result<NodeInfo> parse(const Json& document) {
  if (!document.is_object())
    return Error(ErrorCode::invalid_metadata, fmt::format("must be a JSON object, is {}", shown(document)));
  PENSTOCK_TRY(int_member(document, "zarr_format", 3, 3));
  PENSTOCK_ASSIGN(const std::string type, string_member(document, "node_type"));
  if (type == "array") return parse_array(document);
  if (type == "group") return parse_group(document);
  return invalid("node_type", fmt::format("must be \"array\" or \"group\", is \"{}\"", type));
}

}  // namespace penstock::zarr3

namespace penstock {

Result<NodeInfo> parse_zarr3(std::string_view zarr_json) {
  PENSTOCK_ASSIGN(const Json document, parse_json(zarr_json));
  return zarr3::parse(document);
}

}  // namespace penstock

// Dataset, GroupInfo -> zarr.json, with members in the order and indentation of zarr-python.
#include <fmt/format.h>

#include "codec/list.hpp"
#include "core/json.hpp"
#include "format/members.hpp"
#include "format/zarr/v3/zarr3.hpp"

namespace penstock::zarr3 {
namespace {

Result<Json> parse_object(std::string_view text, std::string_view where) {
  PENSTOCK_ASSIGN_IN(Json object, parse_json(text), where);
  if (!object.is_object()) return metadata::invalid(where, "must be a JSON object");
  return object;
}

Result<Json> parse_extra(std::string_view text) {
  if (text.empty()) return Json(Json::object());
  return parse_object(text, "extra");
}

Json configured(std::string_view name, std::string_view key, Json value) {
  Json out = Json::object();
  out["name"] = name;
  out["configuration"] = Json::object();
  out["configuration"][std::string(key)] = std::move(value);
  return out;
}

/// The data type as the file spelled it, when that still means the same.
Result<Json> data_type(const Dataset& dataset, const Json& extra) {
  if (const auto it = extra.find("data_type"); it != extra.end()) {
    const auto spelled = parse_dtype(*it, "data_type");
    if (spelled && *spelled == dataset.dtype) return Json(*it);
  }
  return write_dtype(dataset.dtype);
}

Result<Json> fill_value(const Dataset& dataset, const Json& data_type_json) {
  // v3 has no null: what a v2 array without fill value reads as is written.
  if (dataset.fill.empty() && !dataset.dtype.is_vlen())
    return fill_to(dataset.dtype, std::vector<std::byte>(dataset.dtype.size_bytes), fill_style(data_type_json));
  return fill_to(dataset.dtype, dataset.fill, fill_style(data_type_json));
}

Result<Json> codecs_json(const Dataset& dataset) {
  for (std::size_t i = 0; i < dataset.codecs.size(); ++i) {
    const CodecSpec& codec = dataset.codecs[i];
    const std::string where = fmt::format("codecs[{}]", i);
    PENSTOCK_ASSIGN(const Json config, parse_object(codec.configuration, where + ".configuration"));
    if (const auto place = find_listed_order(codec.name, config, where))
      return metadata::unsupported(*place,
                                   "zarr v3 has no structures of mixed byte order; use one order for all fields");
  }
  if (dataset.codecs.empty()) return metadata::invalid("codecs", "an array needs one codec or more");
  return codecs_to_json(dataset.codecs);
}

void append_extra(Json& document, const Json& extra) {
  for (const auto& [name, value] : extra.items()) {
    // Members of other formats (zarr v2) would make this document unreadable.
    if (value.is_object() && value.value("must_understand", Json()) == Json(false) && !document.contains(name))
      document[name] = value;
  }
}

}  // namespace

Result<Json> to_json(const Dataset& dataset) {
  PENSTOCK_TRY(metadata::check_dataset(dataset));
  PENSTOCK_ASSIGN(const Json extra, parse_extra(dataset.format.extra));
  Json document = Json::object();
  document["shape"] = dataset.shape;
  PENSTOCK_ASSIGN(const Json type, data_type(dataset, extra));
  document["data_type"] = type;
  document["chunk_grid"] = configured("regular", "chunk_shape", dataset.chunk_shape);
  const KeyEncoding* const keys = dataset.keys();
  if (keys == nullptr) return metadata::unsupported("keys", "the chunks of a zarr array are an object each");
  const bool standard = keys->kind == KeyEncoding::Kind::standard;
  document["chunk_key_encoding"] =
      configured(standard ? "default" : "v2", "separator", std::string(1, keys->separator));
  PENSTOCK_ASSIGN_IN(document["fill_value"], fill_value(dataset, type), "fill_value");
  PENSTOCK_ASSIGN(document["codecs"], codecs_json(dataset));
  PENSTOCK_ASSIGN(document["attributes"], parse_object(dataset.attributes, "attributes"));
  if (!dataset.dims.empty()) {
    Json names = Json::array();
    for (const auto& name : dataset.dimension_names()) names.push_back(name ? Json(*name) : Json());
    document["dimension_names"] = std::move(names);
  }
  document["zarr_format"] = 3;
  document["node_type"] = "array";
  document["storage_transformers"] = Json::array();
  append_extra(document, extra);
  return document;
}

Result<Json> to_json(const GroupInfo& group) {
  PENSTOCK_ASSIGN(const Json extra, parse_extra(group.format.extra));
  Json document = Json::object();
  PENSTOCK_ASSIGN(document["attributes"], parse_object(group.attributes, "attributes"));
  document["zarr_format"] = 3;
  append_extra(document, extra);
  document["node_type"] = "group";
  return document;
}

}  // namespace penstock::zarr3

namespace penstock {

Result<std::string> write_zarr3(const Dataset& dataset) {
  PENSTOCK_ASSIGN(const Json document, zarr3::to_json(dataset));
  return dump_json(document, 2);
}
Result<std::string> write_zarr3(const GroupInfo& group) {
  PENSTOCK_ASSIGN(const Json document, zarr3::to_json(group));
  return dump_json(document, 2);
}

}  // namespace penstock

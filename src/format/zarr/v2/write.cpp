// Dataset, GroupInfo -> .zarray, .zgroup, .zattrs, with members in the order of zarr-python.
#include <algorithm>

#include "core/json.hpp"
#include "format/members.hpp"
#include "format/zarr/fill.hpp"
#include "format/zarr/v2/zarr2.hpp"

namespace penstock::zarr2 {
namespace {

Result<Json> parse_object(std::string_view text, std::string_view where) {
  if (text.empty()) return Json(Json::object());
  PENSTOCK_ASSIGN_IN(Json object, parse_json(text), where);
  if (!object.is_object()) return metadata::invalid(where, "must be a JSON object");
  return object;
}

/// Members of v3 (data_type, extensions that need not be understood) mean nothing here.
Status append_extra(Json& document, std::string_view text) {
  PENSTOCK_ASSIGN(const Json extra, parse_object(text, "extra"));
  for (const auto& [name, value] : extra.items()) {
    const bool is_v3 = name == "data_type" || (value.is_object() && value.contains("must_understand"));
    if (!is_v3 && !document.contains(name)) document[name] = value;
  }
  return {};
}

Result<Json> attributes_json(const Dataset& dataset) {
  PENSTOCK_ASSIGN(Json attributes, parse_object(dataset.attributes, "attributes"));
  const auto names = dataset.dimension_names();
  // The attribute has no form for a dimension without a name.
  if (names.empty() || std::ranges::any_of(names, [](const auto& name) { return !name; })) return attributes;
  Json list = Json::array();
  for (const auto& name : names) list.push_back(*name);
  attributes["_ARRAY_DIMENSIONS"] = std::move(list);
  return attributes;
}

std::vector<Document> as_text(const JsonDocuments& documents) {
  std::vector<Document> out;
  for (const auto& [name, json] : documents) out.push_back({name, dump_json(json, 2)});
  return out;
}

}  // namespace

Result<JsonDocuments> to_json(const Dataset& dataset) {
  PENSTOCK_TRY(metadata::check_dataset(dataset));
  const KeyEncoding* const keys = dataset.keys();
  if (keys == nullptr || keys->kind != KeyEncoding::Kind::v2)
    return metadata::unsupported("keys", "zarr v2 has no keys like \"c/0/1\"; use those of v2, \"0/1\" or \"0.1\"");
  PENSTOCK_ASSIGN(const StoredCodecs codecs, write_codecs(dataset));
  Json zarray = Json::object();
  zarray["shape"] = dataset.shape;
  zarray["chunks"] = dataset.chunk_shape;
  PENSTOCK_ASSIGN(zarray["dtype"], write_dtype(dataset.dtype, codecs.endian));
  zarray["fill_value"] = nullptr;
  PENSTOCK_ASSIGN(const Json extra, parse_object(dataset.format.extra, "extra"));
  const bool null_text = dataset.fill.empty() && extra.contains("fill_value") && extra["fill_value"].is_null();
  if (!dataset.fill.empty() || (dataset.dtype.is_vlen() && !null_text)) {
    const FillStyle style{2, true, true, codecs.endian};
    PENSTOCK_ASSIGN_IN(zarray["fill_value"], fill_to(dataset.dtype, dataset.fill, style), "fill_value");
  }
  zarray["order"] = codecs.f_order ? "F" : "C";
  zarray["filters"] = codecs.filters;
  zarray["dimension_separator"] = std::string(1, keys->separator);
  zarray["compressor"] = codecs.compressor;
  zarray["zarr_format"] = 2;
  PENSTOCK_TRY(append_extra(zarray, dataset.format.extra));
  PENSTOCK_ASSIGN(Json attributes, attributes_json(dataset));
  return JsonDocuments{{".zarray", std::move(zarray)}, {".zattrs", std::move(attributes)}};
}

Result<JsonDocuments> to_json(const GroupInfo& group) {
  Json zgroup = Json::object();
  zgroup["zarr_format"] = 2;
  PENSTOCK_TRY(append_extra(zgroup, group.format.extra));
  PENSTOCK_ASSIGN(Json attributes, parse_object(group.attributes, "attributes"));
  return JsonDocuments{{".zgroup", std::move(zgroup)}, {".zattrs", std::move(attributes)}};
}

}  // namespace penstock::zarr2

namespace penstock {

Result<std::vector<Document>> write_zarr2(const Dataset& dataset) {
  PENSTOCK_ASSIGN(const zarr2::JsonDocuments documents, zarr2::to_json(dataset));
  return zarr2::as_text(documents);
}
Result<std::vector<Document>> write_zarr2(const GroupInfo& group) {
  PENSTOCK_ASSIGN(const zarr2::JsonDocuments documents, zarr2::to_json(group));
  return zarr2::as_text(documents);
}

}  // namespace penstock

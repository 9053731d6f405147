// .zarray, .zgroup, .zattrs -> Dataset, GroupInfo.  https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/members.hpp"
#include "format/zarr/fill.hpp"
#include "format/zarr/v2/zarr2.hpp"
#include "format/zarr/xarray.hpp"

namespace penstock::zarr2 {
namespace {

using metadata::invalid;
using metadata::shown;
using metadata::unsupported;

constexpr std::string_view kArrayMembers[] = {
    "zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters", "dimension_separator",
};
constexpr std::string_view kGroupMembers[] = {"zarr_format"};

/// Members beyond the specification are to be ignored; they are kept for writing back (NCZarr has some),
/// but not those that would mean something in v3.
std::string extra_members(const Json& document, std::span<const std::string_view> known) {
  Json extra = Json::object();
  for (const auto& [name, value] : document.items()) {
    const bool is_v3 = name == "data_type" || (value.is_object() && value.contains("must_understand"));
    if (!is_v3 && std::ranges::find(known, name) == known.end()) extra[name] = value;
  }
  return extra.empty() ? std::string() : dump_json(extra);
}

Status check_object(const Json& document, std::string_view name) {
  if (document.is_object()) return {};
  return invalid(name, fmt::format("must be a JSON object, is {}", shown(document)));
}

Status parse_chunks(const Json& zarray, Dataset& dataset) {
  PENSTOCK_ASSIGN(const Json* shape, member(zarray, "shape"));
  PENSTOCK_ASSIGN(dataset.shape, metadata::parse_shape(*shape, "shape", metadata::Extents::any));
  PENSTOCK_ASSIGN(const Json* chunks, member(zarray, "chunks"));
  PENSTOCK_ASSIGN(dataset.chunk_shape, metadata::parse_shape(*chunks, "chunks", metadata::Extents::any));
  PENSTOCK_TRY(metadata::allow_zero_chunks_of_empty(dataset, "chunks"));
  return metadata::check_chunks(dataset, "shape", "chunks");
}

Status parse_separator(const Json& zarray, Dataset& dataset) {
  KeyEncoding& keys = dataset.placement.emplace<KeyEncoding>(KeyEncoding{KeyEncoding::Kind::v2, '.'});
  const Json separator = zarray.value("dimension_separator", Json());
  if (separator.is_null()) return {};
  if (!is_text(separator, "/") && !is_text(separator, "."))
    return invalid("dimension_separator", fmt::format("must be \"/\" or \".\", is {}", shown(separator)));
  keys.separator = separator.get_ref<const std::string&>().front();
  return {};
}

/// The type of the objects of "|O": what the filters make of them.
Result<DType> object_type(const Json& filters) {
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const Json id = filters[i].is_object() ? filters[i].value("id", Json()) : Json();
    if (is_text(id, "vlen-utf8")) return parse_dtype_name("string");
    if (is_text(id, "vlen-bytes")) return parse_dtype_name("bytes");
    for (const std::string_view other : {"vlen-array", "json2", "json", "pickle", "msgpack", "msgpack2", "categorize"})
      if (id == other)
        return unsupported(fmt::format("filters[{}]", i), fmt::format("objects stored by \"{}\"", other));
  }
  return unsupported("dtype", "\"|O\" without a filter that says what the objects are (vlen-utf8, vlen-bytes)");
}

/// xarray keeps the names of dimensions in an attribute of v2 arrays.
std::vector<std::optional<std::string>> names_of(const Json& zattrs, std::size_t rank) {
  const auto it = zattrs.find("_ARRAY_DIMENSIONS");
  if (it == zattrs.end() || rank == 0) return {};
  auto names = metadata::parse_names(*it, "_ARRAY_DIMENSIONS", rank);
  if (!names || std::ranges::any_of(*names, [](const auto& name) { return !name; })) return {};
  return *std::move(names);
}

}  // namespace

Result<Dataset> parse_array(const Json& zarray, const Json& zattrs) {
  PENSTOCK_TRY(check_object(zarray, ".zarray"));
  PENSTOCK_TRY(check_object(zattrs, ".zattrs"));
  PENSTOCK_TRY(int_member(zarray, "zarr_format", 2, 2));
  Dataset dataset;
  dataset.format.version = 2;
  PENSTOCK_ASSIGN(const Json* dtype, member(zarray, "dtype"));
  PENSTOCK_ASSIGN(StoredType type, parse_dtype(*dtype, "dtype"));
  if (type.is_object) {
    PENSTOCK_ASSIGN(type.dtype, object_type(zarray.value("filters", Json())));
  }
  dataset.dtype = type.dtype;
  PENSTOCK_TRY(parse_chunks(zarray, dataset));
  PENSTOCK_TRY(parse_separator(zarray, dataset));
  const FillStyle style{2, true, true, type.endian};
  if (const Json fill = zarray.value("fill_value", Json()); !fill.is_null()) {
    PENSTOCK_ASSIGN_IN(dataset.fill, fill_from(dataset.dtype, fill, style), "fill_value");
  }
  PENSTOCK_ASSIGN(dataset.codecs, parse_codecs(zarray, dataset, type.endian));
  dataset.attributes = dump_json(zattrs);
  dataset.nodata = missing_value(dataset.dtype, zattrs);
  dataset.dims = named_dimensions(names_of(zattrs, dataset.rank()));
  dataset.format.extra = extra_members(zarray, kArrayMembers);
  // An empty text is a fill value too, so that there is none has to be said.
  if (dataset.dtype.is_vlen() && zarray.value("fill_value", Json()).is_null()) {
    PENSTOCK_ASSIGN(Json extra, parse_json(dataset.format.extra.empty() ? "{}" : dataset.format.extra));
    extra["fill_value"] = nullptr;
    dataset.format.extra = dump_json(extra);
  }
  return dataset;
}

Result<GroupInfo> parse_group(const Json& zgroup, const Json& zattrs) {
  PENSTOCK_TRY(check_object(zgroup, ".zgroup"));
  PENSTOCK_TRY(check_object(zattrs, ".zattrs"));
  PENSTOCK_TRY(int_member(zgroup, "zarr_format", 2, 2));
  return GroupInfo{{"zarr", 2, extra_members(zgroup, kGroupMembers)}, dump_json(zattrs)};
}

}  // namespace penstock::zarr2

namespace penstock {
namespace {

Result<Json> parse_attributes(std::string_view text) {
  if (text.empty()) return Json(Json::object());  // there is no .zattrs
  PENSTOCK_ASSIGN_IN(Json attributes, parse_json(text), ".zattrs");
  return attributes;
}

}  // namespace

Result<Dataset> parse_zarr2_array(std::string_view zarray, std::string_view zattrs) {
  PENSTOCK_ASSIGN(const Json document, parse_json(zarray));
  PENSTOCK_ASSIGN(const Json attributes, parse_attributes(zattrs));
  return zarr2::parse_array(document, attributes);
}

Result<GroupInfo> parse_zarr2_group(std::string_view zgroup, std::string_view zattrs) {
  PENSTOCK_ASSIGN(const Json document, parse_json(zgroup));
  PENSTOCK_ASSIGN(const Json attributes, parse_attributes(zattrs));
  return zarr2::parse_group(document, attributes);
}

}  // namespace penstock

// zarr v3 data types: core names, and the extensions as zarr-python 3.1 and later spell them.
// https://github.com/zarr-developers/zarr-extensions/tree/main/data-types
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "format/members.hpp"
#include "format/zarr/v3/zarr3.hpp"

namespace penstock::zarr3 {
namespace {

using metadata::invalid;
using metadata::unsupported;

constexpr std::string_view kUnits[] = {"generic", "Y",  "M",  "W",  "D",  "h",  "m",
                                       "s",       "ms", "us", "ns", "ps", "fs", "as"};
constexpr std::int64_t kMaxElementBytes = INT32_MAX;

/// Second names of types, as other programs write them.
struct OtherName {
  std::string_view registered, ours;
};
constexpr OtherName kOtherNames[] = {
    {"variable_length_bytes", "bytes"},
    {"binary", "bytes"},
    {"complex_float32", "complex64"},
    {"complex_float64", "complex128"},
};

Result<DType> sized(Kind kind, const Json& config, std::int64_t unit) {
  PENSTOCK_TRY(only_members(config, {"length_bytes"}));
  PENSTOCK_ASSIGN(const std::int64_t size, int_member(config, "length_bytes", 1, kMaxElementBytes));
  if (size % unit != 0)
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("\"length_bytes\" must be a multiple of {}, is {}", unit, size));
  return DType{kind, static_cast<std::uint32_t>(size), {}, 1, {}};
}

Result<DType> time(Kind kind, const Json& config) {
  PENSTOCK_TRY(only_members(config, {"unit", "scale_factor"}));
  PENSTOCK_ASSIGN(std::string unit, string_member(config, "unit"));
  PENSTOCK_ASSIGN(const std::int64_t count, int_member(config, "scale_factor", 1, INT32_MAX));
  if (unit == "\u03bcs") unit = "us";
  if (std::ranges::find(kUnits, unit) == std::end(kUnits))
    return Error(ErrorCode::invalid_metadata, fmt::format("\"unit\" must be a NumPy time unit, is \"{}\"", unit));
  return DType{kind, 8, unit, static_cast<std::uint32_t>(count), {}};
}

/// {"name": ..., "data_type": ...} of `struct`, or ["name", data type] of `structured`.
Result<Field> parse_field(const Json& value, const std::string& where) {
  Field field;
  const Json* data_type = nullptr;
  if (value.is_object()) {
    PENSTOCK_TRY_IN(only_members(value, {"name", "data_type"}), where);
    PENSTOCK_ASSIGN_IN(field.name, string_member(value, "name"), where);
    PENSTOCK_ASSIGN_IN(data_type, member(value, "data_type"), where);
  } else if (value.is_array() && value.size() == 2 && value[0].is_string()) {
    field.name = value[0].get<std::string>();
    data_type = &value[1];
  } else {
    return invalid(where, fmt::format("must be a field with name and data_type, is {}", metadata::shown(value)));
  }
  if (field.name.empty()) return invalid(where, "the name of a field must not be empty");
  PENSTOCK_ASSIGN(field.dtype, parse_dtype(*data_type, where + ".data_type"));
  if (field.dtype.is_vlen()) return invalid(where + ".data_type", "a field must have a fixed size");
  return field;
}

Result<DType> structure(const Json& config, std::string_view where) {
  PENSTOCK_TRY_IN(only_members(config, {"fields"}), where);
  PENSTOCK_ASSIGN_IN(const Json* fields, member(config, "fields"), where);
  if (!fields->is_array() || fields->empty())
    return invalid(where, fmt::format("\"fields\" must be a list of fields, is {}", metadata::shown(*fields)));
  DType dtype{Kind::structure, 0, {}, 1, {}};
  std::uint64_t size = 0;
  for (const Json& item : *fields) {
    const std::string name = fmt::format("{}.fields[{}]", where, dtype.fields.size());
    PENSTOCK_ASSIGN(Field field, parse_field(item, name));
    for (const Field& other : dtype.fields)
      if (other.name == field.name) return invalid(name, fmt::format("a second field \"{}\"", field.name));
    field.offset_bytes = static_cast<std::uint32_t>(size);
    size += field.dtype.size_bytes;
    if (size > static_cast<std::uint64_t>(kMaxElementBytes)) return invalid(name, "the structure is over 2 GiB");
    dtype.fields.push_back(std::move(field));
  }
  dtype.size_bytes = static_cast<std::uint32_t>(size);
  return dtype;
}

Json configured(std::string_view name, Json configuration) {
  Json out = Json::object();
  out["name"] = name;
  out["configuration"] = std::move(configuration);
  return out;
}

bool spells(const Json& data_type, std::string_view name) {
  return data_type.is_object() && data_type.value("name", Json()) == Json(name);
}

/// Whether raw bytes in it are called `raw_bytes`, not `r*`.
bool spells_raw_bytes(const Json& data_type) {
  if (spells(data_type, "raw_bytes")) return true;
  if (!data_type.is_object() || !data_type.contains("configuration")) return false;
  const Json& config = data_type.at("configuration");
  if (!config.is_object() || !config.contains("fields")) return false;
  return std::ranges::any_of(config.at("fields"), [](const Json& field) {
    return field.is_array() ? field.size() == 2 && spells_raw_bytes(field[1])
                            : field.is_object() && spells_raw_bytes(field.value("data_type", Json()));
  });
}

}  // namespace

Result<DType> parse_dtype(const Json& value, std::string_view where) {
  PENSTOCK_ASSIGN(const Named named, parse_named(value, where));
  const std::string config_where = fmt::format("{}.configuration", where);
  Result<DType> dtype = Error(ErrorCode::internal, "");
  if (named.name == "null_terminated_bytes")
    dtype = sized(Kind::bytes, named.configuration, 1);
  else if (named.name == "fixed_length_utf32")
    dtype = sized(Kind::utf32, named.configuration, 4);
  else if (named.name == "raw_bytes")
    dtype = sized(Kind::opaque, named.configuration, 1);
  else if (named.name == "numpy.datetime64")
    dtype = time(Kind::datetime, named.configuration);
  else if (named.name == "numpy.timedelta64")
    dtype = time(Kind::timedelta, named.configuration);
  else if (named.name == "struct" || named.name == "structured")
    return structure(named.configuration, config_where);
  else {
    PENSTOCK_TRY_IN(only_members(named.configuration, {}), config_where);
    const auto* other = std::ranges::find(kOtherNames, named.name, &OtherName::registered);
    dtype = parse_dtype_name(other == std::end(kOtherNames) ? std::string_view(named.name) : other->ours);
    if (!dtype) return unsupported(where, fmt::format("penstock does not know the data type \"{}\"", named.name));
    if (dtype->size_bytes > kMaxElementBytes) return invalid(where, "an element is over 2 GiB");
    return dtype;
  }
  if (!dtype) return std::move(std::move(dtype).error().add_context(config_where));
  return dtype;
}

Result<Json> write_dtype(const DType& dtype) {
  switch (dtype.kind) {
    case Kind::bytes: return configured("null_terminated_bytes", {{"length_bytes", dtype.size_bytes}});
    case Kind::utf32: return configured("fixed_length_utf32", {{"length_bytes", dtype.size_bytes}});
    // The core name is r*, but zarr-python does not read it.
    case Kind::opaque: return configured("raw_bytes", {{"length_bytes", dtype.size_bytes}});
    case Kind::datetime:
    case Kind::timedelta:
      return configured(dtype.kind == Kind::datetime ? "numpy.datetime64" : "numpy.timedelta64",
                        {{"unit", dtype.unit}, {"scale_factor", dtype.unit_count}});
    case Kind::structure: break;
    default: return Json(dtype.name());
  }
  // zarr-python before 3.2 knows only `structured`; later versions read both it and `struct`.
  Json fields = Json::array();
  std::uint64_t packed = 0;
  for (const Field& field : dtype.fields) {
    if (!field.shape.empty() || field.offset_bytes != packed)
      return unsupported("data_type", fmt::format("zarr v3 has no form for the field \"{}\": {}", field.name,
                                                  field.shape.empty() ? "it is not packed" : "it is an array"));
    packed += field.dtype.size_bytes;
    PENSTOCK_ASSIGN_IN(Json type, write_dtype(field.dtype), field.name);
    fields.push_back(Json::array({field.name, std::move(type)}));
  }
  Json config = Json::object();
  config["fields"] = std::move(fields);
  return configured("structured", std::move(config));
}

FillStyle fill_style(const Json& data_type) {
  FillStyle style;
  style.raw_as_base64 = spells_raw_bytes(data_type);
  style.struct_as_base64 = spells(data_type, "structured");
  return style;
}

}  // namespace penstock::zarr3

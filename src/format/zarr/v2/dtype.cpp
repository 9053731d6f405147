// zarr v2 data types: NumPy type strings, and lists of fields.
// https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#data-type-encoding
#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"
#include "core/json.hpp"
#include "core/json_text.hpp"
#include "core/numpy_dtype.hpp"
#include "format/members.hpp"
#include "format/zarr/v2/zarr2.hpp"

namespace penstock::zarr2 {
namespace {

using metadata::invalid;
using metadata::shown;
using metadata::unsupported;

constexpr std::uint64_t kMaxElementBytes = INT32_MAX;

Result<StoredType> parse_string(const Json& value, std::string_view where) {
  PENSTOCK_ASSIGN_IN(const NumpyDType numpy, parse_numpy_dtype(value.get_ref<const std::string&>()), where);
  if (numpy.dtype.size_bytes > kMaxElementBytes) return invalid(where, "an element is over 2 GiB");
  StoredType type{numpy.dtype, Json(), numpy.is_object};
  if (type.dtype.swap_unit() > 1) type.endian = numpy.big_endian ? "big" : "little";
  return type;
}

/// Shape of a field that is an array: a number or a list.
Result<std::vector<std::uint64_t>> parse_field_shape(const Json& value, const std::string& where) {
  if (!value.is_array()) return metadata::parse_shape(Json::array({value}), where, metadata::Extents::positive);
  return metadata::parse_shape(value, where, metadata::Extents::positive);
}

/// Adds [name, type] or [name, type, shape] to the structure.
Status add_field(const Json& item, const std::string& where, DType& dtype, Json& orders) {
  if (!item.is_array() || item.size() < 2 || item.size() > 3 || !item[0].is_string())
    return invalid(where, fmt::format("must be [name, type] or [name, type, shape], is {}", shown(item)));
  Field field;
  field.name = item[0].get<std::string>();
  PENSTOCK_ASSIGN(const StoredType type, parse_dtype(item[1], where + "[1]"));
  if (type.is_object) return unsupported(where + "[1]", "fields that are objects");
  field.dtype = type.dtype;
  field.offset_bytes = dtype.size_bytes;
  if (item.size() == 3) {
    PENSTOCK_ASSIGN(field.shape, parse_field_shape(item[2], where + "[2]"));
  }
  std::uint64_t size = field.dtype.size_bytes;
  for (const std::uint64_t extent : field.shape) size = checked_mul(size, extent).value_or(UINT64_MAX);
  size = checked_add(size, dtype.size_bytes).value_or(UINT64_MAX);
  if (size > kMaxElementBytes) return invalid(where, "the structure is over 2 GiB");
  dtype.size_bytes = static_cast<std::uint32_t>(size);
  // NumPy describes the gaps of an aligned structure as fields without a name.
  if (field.name.empty() && field.dtype.kind == Kind::opaque) return {};
  if (field.name.empty()) return invalid(where, "the name of a field must not be empty");
  for (const Field& other : dtype.fields)
    if (other.name == field.name) return invalid(where, fmt::format("a second field \"{}\"", field.name));
  dtype.fields.push_back(std::move(field));
  orders.push_back(type.endian);
  return {};
}

/// One order for all fields where that is the truth, else the list.
Json combined(const Json& orders) {
  Json one;
  for (const Json& order : orders) {
    if (order.is_null()) continue;
    if (order.is_array() || (!one.is_null() && one != order)) return orders;
    one = order;
  }
  return one;
}

Result<Json> write_gap(std::uint64_t bytes) { return Json::array({"", fmt::format("|V{}", bytes)}); }

Result<Json> write_structure(const DType& dtype, const Json& endian) {
  Json list = Json::array();
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < dtype.fields.size(); ++i) {
    const Field& field = dtype.fields[i];
    if (field.offset_bytes < at) return unsupported("dtype", fmt::format("the field \"{}\" overlaps", field.name));
    if (field.offset_bytes > at) {
      PENSTOCK_ASSIGN(Json gap, write_gap(field.offset_bytes - at));
      list.push_back(std::move(gap));
    }
    const Json& order = endian.is_array() && i < endian.size() ? endian[i] : endian;
    PENSTOCK_ASSIGN(Json type, write_dtype(field.dtype, order));
    Json item = Json::array({field.name, std::move(type)});
    if (!field.shape.empty()) item.push_back(field.shape);
    list.push_back(std::move(item));
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(field.shape));
    PENSTOCK_ASSIGN(const std::uint64_t size, checked_mul(count, field.dtype.size_bytes));
    PENSTOCK_ASSIGN(at, checked_add(field.offset_bytes, size));
  }
  if (dtype.size_bytes > at) {
    PENSTOCK_ASSIGN(Json gap, write_gap(dtype.size_bytes - at));
    list.push_back(std::move(gap));
  }
  return list;
}

}  // namespace

Result<StoredType> parse_dtype(const Json& value, std::string_view where) {
  if (value.is_string()) return parse_string(value, where);
  if (!value.is_array() || value.empty())
    return invalid(where, fmt::format("must be a NumPy type string or a list of fields, is {}", shown(value)));
  StoredType type{DType{Kind::structure, 0, {}, 1, {}}, Json(), false};
  Json orders = Json::array();
  for (std::size_t i = 0; i < value.size(); ++i)
    PENSTOCK_TRY(add_field(value[i], fmt::format("{}[{}]", where, i), type.dtype, orders));
  if (type.dtype.fields.empty()) return invalid(where, "a structure without fields");
  type.endian = combined(orders);
  return type;
}

Result<Json> write_dtype(const DType& dtype, const Json& endian) {
  if (dtype.kind == Kind::structure) return write_structure(dtype, endian);
  std::string text = dtype.numpy();
  if (is_text(endian, "big") && dtype.swap_unit() > 1) {
    if (text.front() != '<')
      return unsupported("dtype", fmt::format("zarr v2 has no name for big-endian {}", dtype.name()));
    text.front() = '>';
  }
  return Json(text);
}

}  // namespace penstock::zarr2

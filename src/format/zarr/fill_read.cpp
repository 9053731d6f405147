// JSON -> one element.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/format.hpp"
#include "format/members.hpp"
#include "format/zarr/base64.hpp"
#include "format/zarr/fill.hpp"
#include "format/zarr/float_bits.hpp"

namespace penstock {
namespace {

using Element = std::vector<std::byte>;

Error wrong(const Json& value, std::string_view accepted) {
  return {ErrorCode::invalid_metadata, fmt::format("must be {}, is {}", accepted, metadata::shown(value))};
}

void append_low_bytes(Element& out, std::uint64_t bits, std::size_t count) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&bits);
  out.insert(out.end(), bytes, bytes + count);  // native order; penstock runs on little-endian machines
}

/// NCZarr writes numbers as strings.
Json plain_number(const Json& value, const FillStyle& style) {
  if (style.zarr_format != 2) return value;
  if (!value.is_string()) return value;
  const auto& text = value.get_ref<const std::string&>();
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  std::uint64_t large = 0;
  double real = 0;
  if (const auto r = std::from_chars(text.data(), end, whole); r.ec == std::errc() && r.ptr == end) return whole;
  if (const auto r = std::from_chars(text.data(), end, large); r.ec == std::errc() && r.ptr == end) return large;
  if (text.find_first_of("nN") != std::string::npos) return value;  // "NaN", "Infinity": read as they are
  if (const auto r = std::from_chars(text.data(), end, real); r.ec == std::errc() && r.ptr == end) return real;
  return value;
}

Result<std::uint64_t> read_integer(const Json& value, std::uint32_t size, bool is_signed) {
  const std::uint64_t span = size == 8 ? UINT64_MAX : (std::uint64_t{1} << 8 * size) - 1;
  const std::uint64_t high = is_signed ? span / 2 : span;
  const auto low = is_signed ? -static_cast<std::int64_t>(high) - 1 : 0;
  const auto outside = [&] { return wrong(value, fmt::format("a whole number from {} to {}", low, high)); };
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number > high ? Result<std::uint64_t>(outside()) : number;
  }
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number < low || (number > 0 && static_cast<std::uint64_t>(number) > high)) return outside();
    return static_cast<std::uint64_t>(number);
  }
  // 0.0 for an integer type is common; a float that large would no longer be exact.
  if (!value.is_number_float()) return outside();
  const auto number = value.get<double>();
  if (std::trunc(number) != number || std::abs(number) > 0x1p53) return outside();
  return read_integer(Json(static_cast<std::int64_t>(number)), size, is_signed);
}

/// "0x7fc00001": the bits of the value, most significant first.
std::optional<std::uint64_t> parse_hex(std::string_view text, FloatFormat format) {
  const auto digits = static_cast<std::size_t>(format.bits() / 4);
  if (!text.starts_with("0x") || text.size() != digits + 2) return std::nullopt;
  std::uint64_t bits = 0;
  const auto [ptr, ec] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  if (ec != std::errc() || ptr != text.data() + text.size()) return std::nullopt;
  return bits;
}

Result<std::uint64_t> read_float(const Json& value, FloatFormat format, const FillStyle& style) {
  const std::string_view accepted = style.zarr_format == 2
                                        ? "a number, \"NaN\", \"Infinity\" or \"-Infinity\""
                                        : "a number, \"NaN\", \"Infinity\", \"-Infinity\" or its bits as \"0x...\"";
  if (value.is_number()) {
    if (const auto bits = float_to_bits(value.get<double>(), format)) return *bits;
    return wrong(value, fmt::format("within the range of a {}-bit float", format.bits()));
  }
  if (!value.is_string()) return wrong(value, accepted);
  const auto& text = value.get_ref<const std::string&>();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return canonical_nan(format);
  if (text == "Infinity") return *float_to_bits(infinity, format);
  if (text == "-Infinity") return *float_to_bits(-infinity, format);
  if (style.zarr_format != 2)
    if (const auto bits = parse_hex(text, format)) return *bits;
  return wrong(value, accepted);
}

Result<Element> read_complex(const DType& dtype, const Json& value, const FillStyle& style) {
  if (!value.is_array() || value.size() != 2) return wrong(value, "a list of two numbers, [real, imaginary]");
  Element out;
  for (const Json& part : value) {
    PENSTOCK_ASSIGN(const std::uint64_t bits, read_float(part, float_format(dtype), style));
    append_low_bytes(out, bits, dtype.size_bytes / 2);
  }
  return out;
}

/// Bytes in any form: base64, or a list of numbers.
Result<Element> read_bytes(const Json& value) {
  if (value.is_string()) {
    if (auto bytes = from_base64(value.get_ref<const std::string&>())) return *std::move(bytes);
    return wrong(value, "base64");
  }
  if (!value.is_array()) return wrong(value, "bytes: a base64 string or a list of numbers from 0 to 255");
  Element out;
  for (const Json& item : value) {
    PENSTOCK_ASSIGN(const std::uint64_t byte, read_integer(item, 1, false));
    out.push_back(static_cast<std::byte>(byte));
  }
  return out;
}

Result<Element> read_fixed_bytes(const DType& dtype, const Json& value, bool exact) {
  PENSTOCK_ASSIGN(Element out, read_bytes(value));
  if (out.size() > dtype.size_bytes || (exact && out.size() != dtype.size_bytes))
    return wrong(value, fmt::format("{} bytes (is {} bytes)", dtype.size_bytes, out.size()));
  out.resize(dtype.size_bytes);
  return out;
}

/// Code points of a text that the JSON parser has found to be valid UTF-8.
std::vector<std::uint32_t> code_points(std::string_view text) {
  std::vector<std::uint32_t> points;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      points.push_back(byte);
    else if (byte >= 0xC0)
      points.push_back(byte >= 0xF0 ? byte & 0x07 : byte >= 0xE0 ? byte & 0x0F : byte & 0x1F);
    else if (!points.empty())
      points.back() = points.back() << 6 | (byte & 0x3F);
  }
  return points;
}

Result<Element> read_text(const DType& dtype, const Json& value) {
  if (!value.is_string()) return wrong(value, "a string");
  const std::vector<std::uint32_t> points = code_points(value.get_ref<const std::string&>());
  if (points.size() * 4 > dtype.size_bytes)
    return wrong(value, fmt::format("a string of up to {} characters", dtype.size_bytes / 4));
  Element out;
  for (const std::uint32_t point : points) append_low_bytes(out, point, 4);
  out.resize(dtype.size_bytes);
  return out;
}

/// As Python's str() writes it.
Element read_text_of_number(const Json& value) {
  const std::string text = dump_json(value);
  const ByteView bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

Result<Element> read_time(const Json& value) {
  const Json count = is_text(value, "NaT") ? Json(INT64_MIN) : value;
  auto bits = read_integer(count, 8, true);
  if (!bits) return wrong(value, "a whole number of units or \"NaT\"");
  Element out;
  append_low_bytes(out, *bits, 8);
  return out;
}

Result<Element> read_field(const Field& field, const Json& value, const FillStyle& style) {
  if (field.shape.empty()) return fill_from(field.dtype, value, style);
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(field.shape));
  if (!value.is_array() || value.size() != count) return wrong(value, fmt::format("a list of {} elements", count));
  Element out;
  for (const Json& item : value) {
    PENSTOCK_ASSIGN(const Element one, fill_from(field.dtype, item, style));
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

Result<Element> read_structure(const DType& dtype, const Json& value, const FillStyle& style) {
  if (value.is_string()) {
    PENSTOCK_ASSIGN(Element out, read_fixed_bytes(dtype, value, true));
    reorder_element(dtype, style.endian, out);
    return out;
  }
  if (!value.is_object()) return wrong(value, "an object with a value for each field, or base64 of the packed bytes");
  for (const auto& [name, unused] : value.items()) {
    bool known = false;
    for (const Field& field : dtype.fields) known = known || field.name == name;
    if (!known) return metadata::invalid(name, "the data type has no such field");
  }
  Element out(dtype.size_bytes);
  for (const Field& field : dtype.fields) {
    PENSTOCK_ASSIGN(const Json* member_value, member(value, field.name));
    PENSTOCK_ASSIGN_IN(const Element one, read_field(field, *member_value, style), field.name);
    std::memcpy(out.data() + field.offset_bytes, one.data(), one.size());
  }
  return out;
}

}  // namespace

Result<std::vector<std::byte>> fill_from(const DType& dtype, const Json& value, const FillStyle& style) {
  Element out;
  const Json number = plain_number(value, style);
  // Zarr v2 writers put 0 or "" where a text or bytes type has no fill value of its own.
  if (style.zarr_format == 2 && (value == 0 || is_text(value, ""))) {
    if (dtype.kind == Kind::vlen_bytes) return out;
    if (dtype.kind == Kind::opaque || dtype.kind == Kind::bytes || dtype.kind == Kind::utf32 ||
        dtype.kind == Kind::structure)
      return Element(dtype.size_bytes);
  }
  switch (dtype.kind) {
    case Kind::boolean: {
      const bool as_number = style.zarr_format == 2 && (number == 0 || number == 1);
      if (!value.is_boolean() && !as_number) return wrong(value, "true or false");
      return Element{static_cast<std::byte>(value.is_boolean() ? value.get<bool>() : number == 1)};
    }
    case Kind::signed_int:
    case Kind::unsigned_int: {
      PENSTOCK_ASSIGN(const std::uint64_t bits, read_integer(number, dtype.size_bytes, dtype.kind == Kind::signed_int));
      append_low_bytes(out, bits, dtype.size_bytes);
      return out;
    }
    case Kind::floating:
    case Kind::bfloat: {
      PENSTOCK_ASSIGN(const std::uint64_t bits, read_float(number, float_format(dtype), style));
      append_low_bytes(out, bits, dtype.size_bytes);
      return out;
    }
    case Kind::complex: return read_complex(dtype, value, style);
    case Kind::opaque: return read_fixed_bytes(dtype, value, true);
    case Kind::bytes: return read_fixed_bytes(dtype, value, false);
    case Kind::utf32: return read_text(dtype, value);
    case Kind::datetime:
    case Kind::timedelta: return read_time(number);
    case Kind::structure: return read_structure(dtype, value, style);
    case Kind::vlen_utf8: {
      // Objects of v2 may have a number; zarr-python reads it as its text.
      if (style.zarr_format == 2 && value.is_number()) return read_text_of_number(value);
      if (!value.is_string()) return wrong(value, "a string");
      const ByteView text = as_bytes(value.get_ref<const std::string&>());
      return Element(text.begin(), text.end());
    }
    case Kind::vlen_bytes: return read_bytes(value);
  }
  return Error(ErrorCode::internal, "a data type of unknown kind");
}

Result<std::vector<std::byte>> fill_from_json(const DType& dtype, std::string_view json) {
  PENSTOCK_ASSIGN(const Json value, parse_json(json));
  return fill_from(dtype, value, {});
}

}  // namespace penstock

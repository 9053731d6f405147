// One element -> JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/format.hpp"
#include "format/zarr/base64.hpp"
#include "format/zarr/fill.hpp"
#include "format/zarr/float_bits.hpp"

namespace penstock {
namespace {

std::uint64_t low_bytes(ByteView bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  return bits;
}

Result<Json> write_float(std::uint64_t bits, FloatFormat format, const FillStyle& style) {
  const double value = float_from_bits(bits, format);
  if (std::isinf(value)) return Json(value > 0 ? "Infinity" : "-Infinity");
  if (!std::isnan(value)) return Json(value);
  if (bits == canonical_nan(format)) return Json("NaN");
  if (style.zarr_format == 2)
    return Error(ErrorCode::unsupported,
                 fmt::format("zarr v2 has no form for a NaN with the bits 0x{:0{}x}", bits, format.bits() / 4))
        .set_hint("use zarr v3, or NaN without a payload");
  return Json(fmt::format("0x{:0{}x}", bits, format.bits() / 4));
}

std::int64_t sign_extended(ByteView bytes) {
  const int unused = 64 - 8 * static_cast<int>(bytes.size());
  return static_cast<std::int64_t>(low_bytes(bytes) << unused) >> unused;
}

Json write_bytes(ByteView bytes, bool as_base64) {
  if (as_base64) return to_base64(bytes);
  Json list = Json::array();
  for (const std::byte b : bytes) list.push_back(std::to_integer<unsigned>(b));
  return list;
}

ByteView without_padding(ByteView bytes) {
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
  return bytes;
}

Result<Json> write_text(ByteView element) {
  std::vector<std::uint32_t> points(element.size() / 4);
  std::memcpy(points.data(), element.data(), points.size() * 4);
  while (!points.empty() && points.back() == 0) points.pop_back();
  std::string text;
  for (const std::uint32_t p : points) {
    if (p > 0x10FFFF || (p >= 0xD800 && p < 0xE000))
      return Error(ErrorCode::invalid_argument, fmt::format("0x{:x} is no Unicode code point", p));
    const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (p >> shift & 0x3F)); };
    if (p < 0x80) {
      text += static_cast<char>(p);
    } else if (p < 0x800) {
      text += static_cast<char>(0xC0 | p >> 6);
      tail(0);
    } else if (p < 0x10000) {
      text += static_cast<char>(0xE0 | p >> 12);
      tail(6), tail(0);
    } else {
      text += static_cast<char>(0xF0 | p >> 18);
      tail(12), tail(6), tail(0);
    }
  }
  return Json(text);
}

Result<Json> write_structure(const DType& dtype, ByteView element, const FillStyle& style) {
  if (style.struct_as_base64) {
    std::vector<std::byte> packed(element.begin(), element.end());
    reorder_element(dtype, style.endian, packed);
    return Json(to_base64(packed));
  }
  Json object = Json::object();
  for (const Field& field : dtype.fields) {
    const std::uint32_t size = field.dtype.size_bytes;
    if (field.shape.empty()) {
      PENSTOCK_ASSIGN_IN(object[field.name], fill_to(field.dtype, element.subspan(field.offset_bytes, size), style),
                         field.name);
      continue;
    }
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(field.shape));
    Json list = Json::array();
    for (std::uint64_t i = 0; i < count; ++i) {
      PENSTOCK_ASSIGN_IN(Json one, fill_to(field.dtype, element.subspan(field.offset_bytes + i * size, size), style),
                         field.name);
      list.push_back(std::move(one));
    }
    object[field.name] = std::move(list);
  }
  return object;
}

}  // namespace

Result<Json> fill_to(const DType& dtype, ByteView element, const FillStyle& style) {
  if (!dtype.is_vlen() && element.size() != dtype.size_bytes)
    return Error(ErrorCode::invalid_argument, fmt::format("an element of {} has {} bytes, {} were given", dtype.name(),
                                                          dtype.size_bytes, element.size()));
  switch (dtype.kind) {
    case Kind::boolean: return Json(element[0] != std::byte{0});
    case Kind::signed_int: return Json(sign_extended(element));
    case Kind::unsigned_int: return Json(low_bytes(element));
    case Kind::floating:
    case Kind::bfloat: return write_float(low_bytes(element), float_format(dtype), style);
    case Kind::complex: {
      const std::size_t half = element.size() / 2;
      PENSTOCK_ASSIGN(Json real, write_float(low_bytes(element.first(half)), float_format(dtype), style));
      PENSTOCK_ASSIGN(Json imaginary, write_float(low_bytes(element.subspan(half)), float_format(dtype), style));
      return Json::array({std::move(real), std::move(imaginary)});
    }
    case Kind::opaque: return write_bytes(element, style.raw_as_base64);
    case Kind::bytes: return Json(to_base64(without_padding(element)));
    case Kind::utf32: return write_text(element);
    case Kind::datetime:
    case Kind::timedelta: return Json(sign_extended(element));
    case Kind::structure: return write_structure(dtype, element, style);
    case Kind::vlen_utf8: return Json(std::string(as_text(element)));
    case Kind::vlen_bytes: return write_bytes(element, true);
  }
  return Error(ErrorCode::internal, "a data type of unknown kind");
}

void reorder_element(const DType& dtype, const Json& endian, ByteSpan element) {
  if (dtype.kind == Kind::structure) {
    for (std::size_t i = 0; i < dtype.fields.size(); ++i) {
      const Field& field = dtype.fields[i];
      const Json& order = endian.is_array() && i < endian.size() ? endian[i] : endian;
      const std::uint64_t count = element_count(field.shape).value_or(0);
      for (std::uint64_t k = 0; k < count; ++k)
        reorder_element(field.dtype, order,
                        element.subspan(field.offset_bytes + k * field.dtype.size_bytes, field.dtype.size_bytes));
    }
    return;
  }
  const std::size_t unit = dtype.swap_unit();
  if (unit <= 1 || !is_text(endian, "big")) return;
  for (std::size_t at = 0; at + unit <= element.size(); at += unit) std::ranges::reverse(element.subspan(at, unit));
}

Result<std::string> fill_to_json(const DType& dtype, ByteView element) {
  PENSTOCK_ASSIGN(const Json value, fill_to(dtype, element, {}));
  return dump_json(value);
}

}  // namespace penstock

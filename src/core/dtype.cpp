#include "penstock/dtype.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "core/units.hpp"

namespace penstock {
namespace {

struct Named {
  std::string_view name;
  Kind kind;
  std::uint32_t size_bytes;
};
constexpr Named kCore[] = {
    {"bool", Kind::boolean, 1},
    {"int8", Kind::signed_int, 1},
    {"int16", Kind::signed_int, 2},
    {"int32", Kind::signed_int, 4},
    {"int64", Kind::signed_int, 8},
    {"uint8", Kind::unsigned_int, 1},
    {"uint16", Kind::unsigned_int, 2},
    {"uint32", Kind::unsigned_int, 4},
    {"uint64", Kind::unsigned_int, 8},
    {"float16", Kind::floating, 2},
    {"float32", Kind::floating, 4},
    {"float64", Kind::floating, 8},
    {"bfloat16", Kind::bfloat, 2},
    {"complex64", Kind::complex, 8},
    {"complex128", Kind::complex, 16},
    {"string", Kind::vlen_utf8, sizeof(void*) + 8},
    {"bytes", Kind::vlen_bytes, sizeof(void*) + 8},
};

std::string time_suffix(const DType& d) {
  if (d.unit.empty() || d.unit == "generic") return "";
  return d.unit_count == 1 ? fmt::format("[{}]", d.unit) : fmt::format("[{}{}]", d.unit_count, d.unit);
}

}  // namespace

bool DType::operator==(const DType& other) const {
  return kind == other.kind && size_bytes == other.size_bytes && unit == other.unit && unit_count == other.unit_count &&
         fields == other.fields;
}

std::uint32_t DType::swap_unit() const {
  switch (kind) {
    case Kind::boolean:
    case Kind::opaque:
    case Kind::bytes:
    case Kind::vlen_utf8:
    case Kind::vlen_bytes: return 1;
    case Kind::complex: return size_bytes / 2;
    case Kind::utf32: return 4;
    case Kind::structure: return 0;
    default: return size_bytes;
  }
}

std::string DType::name() const {
  for (const Named& n : kCore)
    if (n.kind == kind && n.size_bytes == size_bytes) return std::string(n.name);
  switch (kind) {
    case Kind::opaque: return fmt::format("r{}", std::uint64_t{size_bytes} * 8);
    case Kind::bytes: return fmt::format("S{}", size_bytes);
    case Kind::utf32: return fmt::format("U{}", size_bytes / 4);
    case Kind::datetime: return "datetime64" + time_suffix(*this);
    case Kind::timedelta: return "timedelta64" + time_suffix(*this);
    default: break;
  }
  std::string text = "struct{";
  for (const Field& f : fields)
    text += fmt::format("{}{}: {}", &f == fields.data() ? "" : ", ", f.name, f.dtype.name());
  return text + "}";
}

std::string DType::numpy() const {
  const auto sized = [&](char letter) {
    return fmt::format("{}{}{}", size_bytes == 1 ? '|' : '<', letter, size_bytes);
  };
  switch (kind) {
    case Kind::boolean: return "|b1";
    case Kind::signed_int: return sized('i');
    case Kind::unsigned_int: return sized('u');
    case Kind::floating: return sized('f');
    case Kind::complex: return sized('c');
    case Kind::bfloat: return "bfloat16";
    case Kind::bytes: return fmt::format("|S{}", size_bytes);
    case Kind::utf32: return fmt::format("<U{}", size_bytes / 4);
    case Kind::datetime: return "<M8" + time_suffix(*this);
    case Kind::timedelta: return "<m8" + time_suffix(*this);
    case Kind::vlen_utf8:
    case Kind::vlen_bytes: return "|O";
    default: return fmt::format("|V{}", size_bytes);
  }
}

Result<DType> parse_dtype_name(std::string_view name) {
  for (const Named& n : kCore)
    if (n.name == name) return DType{n.kind, n.size_bytes, {}, 1, {}};
  if (name.size() > 1 && name.front() == 'r') {
    if (auto bits = parse_count(name.substr(1)); bits && *bits > 0 && *bits % 8 == 0 && *bits / 8 <= UINT32_MAX)
      return DType{Kind::opaque, static_cast<std::uint32_t>(*bits / 8), {}, 1, {}};
  }
  return Error(ErrorCode::invalid_argument, fmt::format("no data type '{}'", name));
}

}  // namespace penstock

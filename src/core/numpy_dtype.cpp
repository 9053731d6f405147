#include "core/numpy_dtype.hpp"

#include <fmt/format.h>

#include <bit>
#include <optional>
#include <string>

#include "core/units.hpp"

namespace penstock {
namespace {

Error bad(std::string_view text, std::string_view why) {
  return Error(ErrorCode::invalid_metadata, fmt::format("no NumPy data type '{}': {}", text.substr(0, 40), why))
      .set_hint("type strings look like \"<f4\", \">i2\", \"|b1\", \"|S10\", \"<U5\", \"<M8[ns]\", \"|V8\"");
}

Error refused(std::string_view text, std::string_view why) {
  return {ErrorCode::unsupported, fmt::format("NumPy data type '{}': {}", text.substr(0, 40), why)};
}

constexpr std::string_view kUnits[] = {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"};

/// The "[25s]" of a time type; nothing, or "[generic]", is the generic unit.
Status parse_unit(std::string_view text, std::string_view bracket, DType& dtype) {
  dtype.unit = "generic";
  dtype.unit_count = 1;
  if (bracket.empty() || bracket == "[generic]") return {};
  if (bracket.size() < 3 || bracket.front() != '[' || bracket.back() != ']')
    return bad(text, "a unit like [ns] is due");
  std::string_view unit = bracket.substr(1, bracket.size() - 2);
  const std::size_t digits = unit.find_first_not_of("0123456789");
  if (digits == std::string_view::npos) return bad(text, "the unit is missing");
  if (digits > 0) {
    const auto count = parse_count(unit.substr(0, digits));
    if (!count || *count == 0 || *count > INT32_MAX) return bad(text, "the count of units must be 1 to 2^31 - 1");
    dtype.unit_count = static_cast<std::uint32_t>(*count);
    unit.remove_prefix(digits);
  }
  for (const std::string_view known : kUnits)
    if (unit == known) {
      dtype.unit = unit;
      return {};
    }
  return bad(text, "units are Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as");
}

Result<DType> parse_time(std::string_view text, Kind kind, std::string_view bracket) {
  DType dtype{kind, 8, {}, 1, {}};
  PENSTOCK_TRY(parse_unit(text, bracket, dtype));
  return dtype;
}

/// A number type of `size` bytes; nothing when there is none.
std::optional<DType> number(char letter, std::uint64_t size) {
  const auto of = [&](Kind kind, std::initializer_list<std::uint64_t> sizes) -> std::optional<DType> {
    for (const std::uint64_t s : sizes)
      if (s == size) return DType{kind, static_cast<std::uint32_t>(size), {}, 1, {}};
    return std::nullopt;
  };
  switch (letter) {
    case 'b': return of(Kind::boolean, {1});
    case 'i': return of(Kind::signed_int, {1, 2, 4, 8});
    case 'u': return of(Kind::unsigned_int, {1, 2, 4, 8});
    case 'f': return of(Kind::floating, {2, 4, 8});
    case 'c': return of(Kind::complex, {8, 16});
    default: return std::nullopt;
  }
}

/// The string without its byte order: "f4", "S10", "M8[ns]".
Result<DType> parse_body(std::string_view text, std::string_view body) {
  const char letter = body.front();
  if (letter == 'M' || letter == 'm') {
    if (body.substr(1, 1) != "8") return bad(text, "times have 8 bytes");
    return parse_time(text, letter == 'M' ? Kind::datetime : Kind::timedelta, body.substr(2));
  }
  if (std::string_view("biufcSaUV").find(letter) == std::string_view::npos) return bad(text, "no such kind of type");
  const auto size = parse_count(body.substr(1));
  if (!size) return bad(text, "a size must follow the letter");
  if ((letter == 'f' && (*size == 12 || *size == 16)) || (letter == 'c' && (*size == 24 || *size == 32)))
    return refused(text, "long doubles differ between machines and are not read");
  if (const auto plain = number(letter, *size)) return *plain;
  if (letter != 'S' && letter != 'a' && letter != 'U' && letter != 'V') return bad(text, "no such size");
  if (*size == 0) return refused(text, "elements without bytes are not read");
  const std::uint64_t unit = letter == 'U' ? 4 : 1;
  if (*size > UINT32_MAX / unit) return bad(text, "elements must be smaller than 4 GiB");
  const Kind kind = letter == 'U' ? Kind::utf32 : letter == 'V' ? Kind::opaque : Kind::bytes;
  return DType{kind, static_cast<std::uint32_t>(*size * unit), {}, 1, {}};
}

/// Names that np.dtype() takes: "int32", "datetime64[ns]".
Result<std::optional<DType>> parse_name(std::string_view text) {
  for (const auto& [name, kind] : {std::pair{std::string_view("datetime64"), Kind::datetime},
                                   std::pair{std::string_view("timedelta64"), Kind::timedelta}})
    if (text.starts_with(name)) {
      PENSTOCK_ASSIGN(DType time, parse_time(text, kind, text.substr(name.size())));
      return std::optional(std::move(time));
    }
  if (auto core = parse_dtype_name(text); core && core->kind != Kind::opaque && !core->is_vlen())
    return std::optional(*std::move(core));
  return std::optional<DType>();
}

}  // namespace

Result<NumpyDType> parse_numpy_dtype(std::string_view text) {
  constexpr bool kNativeBig = std::endian::native == std::endian::big;
  if (text.empty()) return bad(text, "it is empty");
  if (text == "|O" || text == "O" || text == "object") {
    PENSTOCK_ASSIGN(DType vlen, parse_dtype_name("bytes"));
    return NumpyDType{std::move(vlen), false, true};
  }
  const bool has_order = std::string_view("<>|=").find(text.front()) != std::string_view::npos;
  const char order = has_order ? text.front() : '=';
  NumpyDType out;
  std::optional<DType> named;
  if (!has_order) {
    PENSTOCK_ASSIGN(named, parse_name(text));
  }
  if (named) {
    out.dtype = *std::move(named);
  } else {
    const std::string_view body = text.substr(has_order ? 1 : 0);
    if (body.empty()) return bad(text, "the type is missing");
    PENSTOCK_ASSIGN(out.dtype, parse_body(text, body));
  }
  if (out.dtype.swap_unit() > 1) {
    if (order == '|') return bad(text, "a type of several bytes needs its byte order, < or >");
    out.big_endian = order == '>' || (order == '=' && kNativeBig);
  }
  return out;
}

}  // namespace penstock

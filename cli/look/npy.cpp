#include "cli/look/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace penstock::cli {
namespace {

/// A Python string literal.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "'";
}

std::string tuple(std::span<const std::uint64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// The `descr` entry: a type string, or a list of fields with the gaps between them named "" as NumPy writes them.
Result<std::string> descr(const DType& dtype) {
  if (dtype.is_vlen() || dtype.kind == Kind::bfloat)
    return Error(ErrorCode::unsupported, fmt::format(".npy files cannot hold {} elements", dtype.name()))
        .set_hint(dtype.is_vlen() ? "use --format text or json" : "use --format raw, text or json");
  if (dtype.kind != Kind::structure) return quoted(dtype.numpy());
  std::vector<const Field*> fields;
  for (const Field& f : dtype.fields) fields.push_back(&f);
  std::ranges::stable_sort(fields, {}, [](const Field* f) { return f->offset_bytes; });
  std::string out = "[";
  std::uint64_t at = 0;
  const auto pad_to = [&](std::uint64_t offset) {
    if (offset > at) out += fmt::format("('', '|V{}'), ", offset - at);
    at = std::max(at, offset);
  };
  for (const Field* f : fields) {
    pad_to(f->offset_bytes);
    PENSTOCK_ASSIGN_IN(const std::string inner, descr(f->dtype), f->name);
    out += fmt::format("({}, {}{}), ", quoted(f->name), inner, f->shape.empty() ? "" : ", " + tuple(f->shape));
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(f->shape));
    at += count * f->dtype.size_bytes;
  }
  pad_to(dtype.size_bytes);
  return out + "]";
}

}  // namespace

Result<std::string> npy_header(const DType& dtype, std::span<const std::uint64_t> shape) {
  PENSTOCK_ASSIGN(const std::string type, descr(dtype));
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}", type, tuple(shape));
  const bool ascii = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const bool wide = !ascii || text.size() + 64 > 0xFFFF;  // versions 2 and 3 have a 4-byte length; 3 is UTF-8
  const std::size_t prefix = wide ? 12 : 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  std::string out = "\x93NUMPY";
  out += static_cast<char>(!ascii ? 3 : wide ? 2 : 1);
  out += '\0';
  for (std::size_t i = 0; i < (wide ? 4u : 2u); ++i) out += static_cast<char>((text.size() >> (8 * i)) & 0xFF);
  return out + text;
}

}  // namespace penstock::cli

#include "oct/file/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstring>

#include "core/checked.hpp"
#include "oct/file/small_file.hpp"

namespace penstock::oct {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

Error bad(std::size_t byte, std::string_view what) {
  return {ErrorCode::corrupt_data, fmt::format("byte {}: {}", byte, what)};
}

/// What stands behind 'key': in the dictionary of the header.
Result<std::string_view> entry(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return Error(ErrorCode::corrupt_data, fmt::format("the header has no '{}'", key));
  std::string_view rest = header.substr(at + key.size() + 3);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

Result<Shape> parse_shape(std::string_view text) {
  const std::size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos)
    return Error(ErrorCode::corrupt_data, "the header's shape is no tuple");
  Shape shape;
  const char *at = text.data() + 1, *const last = text.data() + end;
  while (at != last) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::uint64_t extent = 0;
    const auto [next, code] = std::from_chars(at, last, extent);
    if (code != std::errc() || shape.size() == kMaxRank)
      return Error(ErrorCode::corrupt_data, "the header's shape is no list of numbers");
    shape.push_back(extent);
    at = next;
  }
  return shape;
}

}  // namespace

Result<NpyArray> parse_npy(ByteView bytes) {
  if (bytes.size() < 10 || !as_text(bytes).starts_with(kMagic)) return bad(0, "no .npy file");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(bytes[i]); };
  const bool wide = byte(6) > 1;
  const std::size_t prefix = wide ? 12 : 10;
  if (bytes.size() < prefix) return bad(bytes.size(), "the file ends in its header");
  const std::size_t length = wide ? byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24 : byte(8) | byte(9) << 8;
  if (length > bytes.size() - prefix) return bad(bytes.size(), "the file ends in its header");
  const std::string_view header = as_text(bytes.subspan(prefix, length));
  PENSTOCK_ASSIGN(const std::string_view type, entry(header, "descr"));
  PENSTOCK_ASSIGN(const std::string_view order, entry(header, "fortran_order"));
  PENSTOCK_ASSIGN(const std::string_view extents, entry(header, "shape"));
  const bool single = type.starts_with("'<f4'");
  if (!single && !type.starts_with("'<f8'"))
    return Error(ErrorCode::unsupported, "elements must be float32 or float64, little endian");
  if (!order.starts_with("False")) return Error(ErrorCode::unsupported, "elements must be in C order");
  NpyArray array;
  PENSTOCK_ASSIGN(array.shape, parse_shape(extents));
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(array.shape));
  const std::size_t size = single ? 4 : 8;
  PENSTOCK_ASSIGN(const std::uint64_t wanted, checked_mul(count, size));
  const ByteView data = bytes.subspan(prefix + length);
  if (data.size() != wanted)
    return bad(prefix + length, fmt::format("{} bytes of elements, {} are needed", data.size(), wanted));
  array.values.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (single) {
      float value = 0;
      std::memcpy(&value, data.data() + 4 * i, 4);
      array.values[i] = value;
    } else {
      std::memcpy(&array.values[i], data.data() + 8 * i, 8);
    }
  }
  return array;
}

std::string npy_text(std::span<const std::uint64_t> shape, std::span<const double> values) {
  std::string header = fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}{}), }}",
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  return out;
}

Result<NpyArray> read_npy(const std::string& path) {
  PENSTOCK_ASSIGN(const Bytes bytes, read_small(path));
  PENSTOCK_ASSIGN_IN(NpyArray array, parse_npy(bytes), path);
  return array;
}

Status write_npy(const std::string& path, std::span<const std::uint64_t> shape, std::span<const double> values) {
  return write_small(path, as_bytes(npy_text(shape, values)));
}

}  // namespace penstock::oct

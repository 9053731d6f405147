#include "oct/file/png.hpp"

#include <zlib.h>

#include <vector>

namespace penstock::oct {
namespace {

void put32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

/// Length, type, data, checksum of type and data.
void put_chunk(std::string& out, std::string_view type, std::string_view data) {
  put32(out, static_cast<std::uint32_t>(data.size()));
  const std::size_t start = out.size();
  out += type;
  out += data;
  const auto* const bytes = reinterpret_cast<const Bytef*>(out.data() + start);
  put32(out, static_cast<std::uint32_t>(crc32_z(0, bytes, out.size() - start)));
}

}  // namespace

Result<std::string> png_text(std::uint32_t width, std::uint32_t height, std::span<const std::uint16_t> values) {
  std::string rows;
  rows.reserve(height * (std::size_t{2} * width + 1));
  for (std::uint32_t r = 0; r < height; ++r) {
    rows += '\0';  // no filter
    for (std::uint32_t c = 0; c < width; ++c) {
      const std::uint16_t v = values[std::size_t{r} * width + c];
      rows += static_cast<char>(v >> 8);
      rows += static_cast<char>(v & 0xFF);
    }
  }
  std::vector<Bytef> packed(compressBound(rows.size()));
  uLongf size = packed.size();
  if (compress2(packed.data(), &size, reinterpret_cast<const Bytef*>(rows.data()), rows.size(), 6) != Z_OK)
    return Error(ErrorCode::out_of_memory, "out of memory for a picture");
  if (size > 0x7FFFFFFF) return Error(ErrorCode::unsupported, "the picture is too large for one PNG chunk");
  std::string head;
  put32(head, width);
  put32(head, height);
  head += std::string("\x10\x00\x00\x00\x00", 5);  // 16 bits, grey, deflate, filters of PNG, not interlaced
  std::string out = "\x89PNG\r\n\x1a\n";
  put_chunk(out, "IHDR", head);
  put_chunk(out, "IDAT", {reinterpret_cast<const char*>(packed.data()), size});
  put_chunk(out, "IEND", {});
  return out;
}

}  // namespace penstock::oct

#include "format/tiff/directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <span>

#include "core/checked.hpp"
#include "core/utf8.hpp"
#include "format/members.hpp"

namespace penstock::tiff {
namespace {

using metadata::invalid;

/// Numbers at places of a few bytes.
template <class T>
T number_at(ByteView bytes, std::uint64_t at, std::endian order) {
  std::array<std::byte, sizeof(T)> raw{};
  std::memcpy(raw.data(), bytes.data() + at, sizeof(T));
  if (order != std::endian::native) std::ranges::reverse(raw);
  return std::bit_cast<T>(raw);
}

struct Header {
  std::endian order = std::endian::little;
  bool big = false;
};

std::optional<Header> header_of(ByteView head) {
  if (head.size() < 4) return std::nullopt;
  Header header;
  if (head[0] != head[1]) return std::nullopt;
  if (head[0] == std::byte{'M'})
    header.order = std::endian::big;
  else if (head[0] != std::byte{'I'})
    return std::nullopt;
  const auto version = number_at<std::uint16_t>(head, 2, header.order);
  header.big = version == 43;
  return version == 42 || version == 43 ? std::optional(header) : std::nullopt;
}

/// Sizes of the parts of a directory.
struct Layout {
  std::uint64_t count_bytes, field_bytes, inline_bytes;
};
constexpr Layout kClassic{2, 12, 4}, kBig{8, 20, 8};
/// In all directories together: directories may lie in each other, so that a small file has any number of fields.
constexpr std::size_t kMaxFields = std::size_t{1} << 18;

Result<Field> field_at(ByteView bytes, std::uint64_t at, std::uint64_t file_offset, const Directory& directory,
                       std::uint64_t file_bytes) {
  const std::endian order = directory.byte_order;
  Field field;
  field.tag = number_at<std::uint16_t>(bytes, at, order);
  field.type = number_at<std::uint16_t>(bytes, at + 2, order);
  field.count =
      directory.big ? number_at<std::uint64_t>(bytes, at + 4, order) : number_at<std::uint32_t>(bytes, at + 4, order);
  const std::uint64_t value_at = at + (directory.big ? 12 : 8);
  PENSTOCK_ASSIGN_IN(const std::uint64_t all, checked_mul(field.count, type_bytes(field.type)),
                     where(directory, field.tag));
  if (all <= (directory.big ? kBig : kClassic).inline_bytes) {
    field.offset_bytes = file_offset + value_at;
    return field;
  }
  field.offset_bytes = directory.big ? number_at<std::uint64_t>(bytes, value_at, order)
                                     : number_at<std::uint32_t>(bytes, value_at, order);
  if (field.offset_bytes > file_bytes || all > file_bytes - field.offset_bytes)
    return Error(ErrorCode::corrupt_data,
                 fmt::format("{}: {} bytes at byte {} of a file of {} bytes", where(directory, field.tag), all,
                             field.offset_bytes, file_bytes));
  return field;
}

Result<Directory> directory_at(ByteSource& file, const Header& header, std::uint64_t offset) {
  const Layout& layout = header.big ? kBig : kClassic;
  Directory directory;
  directory.byte_order = header.order;
  directory.big = header.big;
  directory.offset_bytes = offset;
  PENSTOCK_ASSIGN_IN(const ByteView head, file.get(offset, layout.count_bytes), fmt::format("IFD at byte {}", offset));
  const std::uint64_t count =
      header.big ? number_at<std::uint64_t>(head, 0, header.order) : number_at<std::uint16_t>(head, 0, header.order);
  if (count == 0 || count > 65535)
    return invalid(fmt::format("IFD at byte {}", offset), fmt::format("{} fields", count));
  const std::uint64_t body = count * layout.field_bytes;
  const std::uint64_t next_bytes = header.big ? 8 : 4;
  PENSTOCK_ASSIGN_IN(const ByteView bytes, file.get(offset + layout.count_bytes, body + next_bytes),
                     fmt::format("IFD at byte {}", offset));
  directory.fields.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = i * layout.field_bytes;
    if (type_bytes(number_at<std::uint16_t>(bytes, at + 2, header.order)) == 0) continue;  // as the specification asks
    PENSTOCK_ASSIGN(Field field, field_at(bytes, at, offset + layout.count_bytes, directory, file.size()));
    directory.fields.push_back(field);
  }
  directory.next = header.big ? number_at<std::uint64_t>(bytes, body, header.order)
                              : number_at<std::uint32_t>(bytes, body, header.order);
  return directory;
}

/// The bytes of a field's values.
Result<ByteView> values(ByteSource& file, const Directory& directory, const Field& field, std::uint64_t max_count) {
  if (field.count > max_count)
    return invalid(where(directory, field.tag),
                   fmt::format("{} values; at most {} make sense", field.count, max_count));
  return file.get(field.offset_bytes, field.count * type_bytes(field.type));
}

}  // namespace

std::string where(const Directory& directory, std::uint16_t tag) {
  return fmt::format("IFD at byte {}: tag {}", directory.offset_bytes, tag);
}

const Field* Directory::find(Tag tag) const {
  const auto found = std::ranges::find(fields, static_cast<std::uint16_t>(tag), &Field::tag);
  return found == fields.end() ? nullptr : &*found;
}

bool is_tiff_header(ByteView head) { return header_of(head).has_value(); }

Result<std::vector<Directory>> read_directories(ByteSource& file, std::size_t max_count) {
  PENSTOCK_ASSIGN(const ByteView start, file.get(0, std::min<std::uint64_t>(16, file.size())));
  const std::optional<Header> header = header_of(start);
  if (!header) return invalid("header", "no TIFF header");
  if (start.size() < (header->big ? 16U : 8U))
    return Error(ErrorCode::corrupt_data, fmt::format("the file ends in its header, at byte {}", start.size()));
  if (header->big && (number_at<std::uint16_t>(start, 4, header->order) != 8 ||
                      number_at<std::uint16_t>(start, 6, header->order) != 0))
    return invalid("header", "a BigTIFF whose offsets have not 8 bytes");
  std::uint64_t offset = header->big ? number_at<std::uint64_t>(start, 8, header->order)
                                     : number_at<std::uint32_t>(start, 4, header->order);
  std::vector<Directory> directories;
  std::set<std::uint64_t> seen;
  std::size_t fields = 0;
  while (offset != 0 && directories.size() < max_count) {
    if (!seen.insert(offset).second)
      return invalid(fmt::format("IFD at byte {}", directories.back().offset_bytes),
                     fmt::format("the next IFD is the one at byte {} again", offset));
    PENSTOCK_ASSIGN(Directory directory, directory_at(file, *header, offset));
    offset = directory.next;
    fields += directory.fields.size();
    if (fields > kMaxFields)
      return invalid(fmt::format("IFD at byte {}", directory.offset_bytes),
                     fmt::format("more than {} fields in all IFDs", kMaxFields));
    directories.push_back(std::move(directory));
  }
  if (directories.empty()) return invalid("header", "there is no IFD");
  return directories;
}

std::uint32_t type_bytes(std::uint16_t type) {
  //                                       BYTE ASCII SHORT LONG RATIONAL SBYTE UNDEFINED ... IFD, -, -, LONG8 ...
  constexpr std::array<std::uint8_t, 19> kBytes = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
  return type < kBytes.size() ? kBytes[type] : 0;
}

Result<std::vector<std::uint64_t>> whole_numbers(ByteSource& file, const Directory& directory, const Field& field,
                                                 std::uint64_t max_count) {
  PENSTOCK_ASSIGN_IN(const ByteView bytes, values(file, directory, field, max_count), where(directory, field.tag));
  std::vector<std::uint64_t> out(field.count);
  for (std::uint64_t i = 0; i < field.count; ++i) {
    switch (field.type) {
      case 1: out[i] = static_cast<std::uint8_t>(bytes[i]); break;
      case 3: out[i] = number_at<std::uint16_t>(bytes, 2 * i, directory.byte_order); break;
      case 4:
      case 13: out[i] = number_at<std::uint32_t>(bytes, 4 * i, directory.byte_order); break;
      case 16:
      case 18: out[i] = number_at<std::uint64_t>(bytes, 8 * i, directory.byte_order); break;
      default: return invalid(where(directory, field.tag), fmt::format("is of type {}, no whole numbers", field.type));
    }
  }
  return out;
}

Result<std::vector<double>> real_numbers(ByteSource& file, const Directory& directory, const Field& field,
                                         std::uint64_t max_count) {
  if (field.type != 11 && field.type != 12)
    return invalid(where(directory, field.tag), fmt::format("is of type {}, no floating-point numbers", field.type));
  PENSTOCK_ASSIGN_IN(const ByteView bytes, values(file, directory, field, max_count), where(directory, field.tag));
  std::vector<double> out(field.count);
  for (std::uint64_t i = 0; i < field.count; ++i)
    out[i] = field.type == 12 ? number_at<double>(bytes, 8 * i, directory.byte_order)
                              : number_at<float>(bytes, 4 * i, directory.byte_order);
  return out;
}

Result<std::string> ascii(ByteSource& file, const Field& field, std::uint64_t max_bytes) {
  PENSTOCK_ASSIGN(const ByteView bytes,
                  file.get(field.offset_bytes, std::min(field.count * type_bytes(field.type), max_bytes)));
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::string(all.substr(0, all.find('\0')));
}

Result<std::string> text(ByteSource& file, const Field& field, std::uint64_t max_bytes) {
  PENSTOCK_ASSIGN(std::string said, ascii(file, field, max_bytes));
  if (!find_bad_utf8(std::as_bytes(std::span(said)))) return said;
  std::string out;
  for (const char each : said) {
    const auto c = static_cast<unsigned char>(each);
    if (c >= 0x80) out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(c >= 0x80 ? 0x80 | (c & 0x3F) : c);
  }
  return out;
}

Result<std::uint64_t> number_or(ByteSource& file, const Directory& directory, Tag tag, std::uint64_t fallback) {
  const Field* const field = directory.find(tag);
  if (field == nullptr || field->count == 0) return fallback;
  Field first = *field;
  first.count = 1;
  PENSTOCK_ASSIGN(const std::vector<std::uint64_t> numbers, whole_numbers(file, directory, first, 1));
  return numbers.front();
}

}  // namespace penstock::tiff

#include "store/zip/records.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace penstock::zip {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocatorSignature = 0x07064b50;
constexpr std::uint16_t kZip64Field = 0x0001;
constexpr std::uint64_t kCentralBytes = 46;
constexpr std::uint32_t kMax32 = 0xffffffff;
constexpr std::uint16_t kMax16 = 0xffff;
constexpr std::uint16_t kVersionPlain = 20;  // needed to extract: 2.0, and 4.5 for zip64
constexpr std::uint16_t kVersionZip64 = 45;

Error corrupt(std::string message) { return {ErrorCode::corrupt_data, std::move(message)}; }

template <class T>
T load(ByteView bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[at + i]) << (8 * i)));
  return value;
}

/// Fixed-size record under construction, little-endian.
template <std::size_t N>
class Record {
 public:
  template <class T>
  Record& put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.at(size_++) = static_cast<std::byte>(value >> (8 * i));
    return *this;
  }
  [[nodiscard]] ByteView view() const { return {bytes_.data(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::array<std::byte, N> bytes_{};
  std::size_t size_ = 0;
};

std::uint32_t clamp32(std::uint64_t value) { return value >= kMax32 ? kMax32 : static_cast<std::uint32_t>(value); }

/// The bytes of one extra field by its id; empty when it is absent.
Result<ByteView> extra_field(ByteView extra, std::uint16_t id) {
  while (extra.size() >= 4) {
    const std::size_t bytes = load<std::uint16_t>(extra, 2);
    if (bytes > extra.size() - 4) return corrupt("an extra field runs past the header");
    if (load<std::uint16_t>(extra, 0) == id) return extra.subspan(4, bytes);
    extra = extra.subspan(4 + bytes);
  }
  return ByteView();
}

/// Takes the next 8 bytes of the zip64 field for a value that is marked as too large for 32 bits.
Status take64(ByteView& field, std::uint64_t& value) {
  if (value != kMax32) return {};
  if (field.size() < 8) return corrupt("a size of zip64 is missing in the extra field");
  value = load<std::uint64_t>(field, 0);
  field = field.subspan(8);
  return {};
}

}  // namespace

Result<CentralEntry> parse_central_entry(ByteView bytes) {
  if (bytes.size() < kCentralBytes) return corrupt("the central directory ends inside an entry");
  if (load<std::uint32_t>(bytes, 0) != kCentralSignature)
    return corrupt("no entry of the central directory stands here");
  CentralEntry entry;
  Member& member = entry.member;
  member.made_by = load<std::uint16_t>(bytes, 4);
  member.flags = load<std::uint16_t>(bytes, 8);
  member.method = load<std::uint16_t>(bytes, 10);
  member.dos_date_time = load<std::uint32_t>(bytes, 12);
  member.crc32 = load<std::uint32_t>(bytes, 16);
  member.compressed_bytes = load<std::uint32_t>(bytes, 20);
  member.size_bytes = load<std::uint32_t>(bytes, 24);
  const std::size_t name_bytes = load<std::uint16_t>(bytes, 28);
  const std::size_t extra_bytes = load<std::uint16_t>(bytes, 30);
  const std::size_t comment_bytes = load<std::uint16_t>(bytes, 32);
  member.external_attributes = load<std::uint32_t>(bytes, 38);
  member.header_offset = load<std::uint32_t>(bytes, 42);
  entry.entry_bytes = kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  if (entry.entry_bytes > bytes.size()) return corrupt("the central directory ends inside an entry");
  entry.name = as_text(bytes.subspan(kCentralBytes, name_bytes));
  PENSTOCK_ASSIGN(ByteView field, extra_field(bytes.subspan(kCentralBytes + name_bytes, extra_bytes), kZip64Field));
  PENSTOCK_TRY(take64(field, member.size_bytes));
  PENSTOCK_TRY(take64(field, member.compressed_bytes));
  PENSTOCK_TRY(take64(field, member.header_offset));
  return entry;
}

Result<LocalHeader> parse_local_header(ByteView bytes) {
  if (bytes.size() < kLocalBytes || load<std::uint32_t>(bytes, 0) != kLocalSignature)
    return corrupt("no local header stands where the central directory says");
  LocalHeader header;
  header.member.flags = load<std::uint16_t>(bytes, 6);
  header.member.method = load<std::uint16_t>(bytes, 8);
  header.member.crc32 = load<std::uint32_t>(bytes, 14);
  header.member.compressed_bytes = load<std::uint32_t>(bytes, 18);
  header.member.size_bytes = load<std::uint32_t>(bytes, 22);
  header.name_bytes = load<std::uint16_t>(bytes, 26);
  header.extra_bytes = load<std::uint16_t>(bytes, 28);
  return header;
}

Status apply_zip64(Member& member, ByteView extra) {
  PENSTOCK_ASSIGN(ByteView field, extra_field(extra, kZip64Field));
  PENSTOCK_TRY(take64(field, member.size_bytes));
  return take64(field, member.compressed_bytes);
}

Result<std::uint64_t> find_end_record(ByteView tail) {
  // From the back: the comment is usually empty.  The record's comment must reach the end of the file exactly, else the
  // signature was part of something else or the file goes on.
  for (std::size_t rest = kEndBytes; rest <= tail.size() && rest <= kEndBytes + kMaxComment; ++rest) {
    const std::size_t at = tail.size() - rest;
    if (load<std::uint32_t>(tail, at) == kEndSignature && load<std::uint16_t>(tail, at + 20) == rest - kEndBytes)
      return at;
  }
  return corrupt("no end-of-central-directory record at the end: not a ZIP archive, or cut off, or never finished");
}

Result<EndRecord> parse_end_record(ByteView bytes) {
  if (bytes.size() < kEndBytes) return corrupt("the end record is cut off");
  EndRecord end;
  end.disk = load<std::uint16_t>(bytes, 4);
  end.directory_disk = load<std::uint16_t>(bytes, 6);
  end.members = load<std::uint16_t>(bytes, 10);
  end.directory_bytes = load<std::uint32_t>(bytes, 12);
  end.directory_offset = load<std::uint32_t>(bytes, 16);
  return end;
}

bool needs_zip64(const EndRecord& end) {
  return end.members == kMax16 || end.directory_bytes == kMax32 || end.directory_offset == kMax32;
}

bool is_zip64_locator(ByteView bytes) {
  return bytes.size() >= kLocatorBytes && load<std::uint32_t>(bytes, 0) == kLocatorSignature;
}

Result<std::uint64_t> parse_zip64_locator(ByteView bytes) {
  if (!is_zip64_locator(bytes)) return corrupt("no zip64 locator before the end record");
  return load<std::uint64_t>(bytes, 8);
}

Status apply_zip64_end(EndRecord& end, ByteView record) {
  if (record.size() < kEnd64Bytes || load<std::uint32_t>(record, 0) != kEnd64Signature)
    return corrupt("no zip64 end record stands where the locator says");
  if (end.disk == kMax16) end.disk = load<std::uint32_t>(record, 16);
  if (end.directory_disk == kMax16) end.directory_disk = load<std::uint32_t>(record, 20);
  if (end.members == kMax16) end.members = load<std::uint64_t>(record, 32);
  if (end.directory_bytes == kMax32) end.directory_bytes = load<std::uint64_t>(record, 40);
  if (end.directory_offset == kMax32) end.directory_offset = load<std::uint64_t>(record, 48);
  return {};
}

Status append_local_header(Bytes& out, std::string_view name, const Member& member, Room64 room) {
  const bool zip64 = room == Room64::always || member.size_bytes >= kMax32 || member.compressed_bytes >= kMax32;
  Record<20> extra;
  if (zip64) extra.put(kZip64Field).put(std::uint16_t{16}).put(member.size_bytes).put(member.compressed_bytes);
  Record<kLocalBytes> record;
  record.put(kLocalSignature).put(zip64 ? kVersionZip64 : kVersionPlain).put(member.flags).put(member.method);
  record.put(member.dos_date_time).put(member.crc32);
  record.put(zip64 ? kMax32 : clamp32(member.compressed_bytes)).put(zip64 ? kMax32 : clamp32(member.size_bytes));
  record.put(static_cast<std::uint16_t>(name.size())).put(static_cast<std::uint16_t>(extra.size()));
  PENSTOCK_TRY(out.append(record.view()));
  PENSTOCK_TRY(out.append(as_bytes(name)));
  return out.append(extra.view());
}

Status append_central_entry(Bytes& out, std::string_view name, const Member& member) {
  Record<28> values;  // in this order, each only when its 32 bits do not suffice
  if (member.size_bytes >= kMax32) values.put(member.size_bytes);
  if (member.compressed_bytes >= kMax32) values.put(member.compressed_bytes);
  if (member.header_offset >= kMax32) values.put(member.header_offset);
  const bool zip64 = values.size() > 0;
  Record<4> extra;
  if (zip64) extra.put(kZip64Field).put(static_cast<std::uint16_t>(values.size()));
  Record<kCentralBytes> record;
  record.put(kCentralSignature).put(member.made_by).put(zip64 ? kVersionZip64 : kVersionPlain);
  record.put(member.flags).put(member.method).put(member.dos_date_time).put(member.crc32);
  record.put(clamp32(member.compressed_bytes)).put(clamp32(member.size_bytes));
  record.put(static_cast<std::uint16_t>(name.size())).put(static_cast<std::uint16_t>(extra.size() + values.size()));
  record.put(std::uint16_t{0}).put(std::uint16_t{0}).put(std::uint16_t{0});  // comment, disk, internal attributes
  record.put(member.external_attributes).put(clamp32(member.header_offset));
  PENSTOCK_TRY(out.append(record.view()));
  PENSTOCK_TRY(out.append(as_bytes(name)));
  PENSTOCK_TRY(out.append(extra.view()));
  return out.append(values.view());
}

Status append_end_records(Bytes& out, const EndRecord& end) {
  const std::uint16_t members = end.members >= kMax16 ? kMax16 : static_cast<std::uint16_t>(end.members);
  if (members == kMax16 || end.directory_bytes >= kMax32 || end.directory_offset >= kMax32) {
    Record<kEnd64Bytes + kLocatorBytes> record;
    record.put(kEnd64Signature).put(std::uint64_t{kEnd64Bytes - 12}).put(kVersionZip64).put(kVersionZip64);
    record.put(std::uint32_t{0}).put(std::uint32_t{0}).put(end.members).put(end.members);
    record.put(end.directory_bytes).put(end.directory_offset);
    record.put(kLocatorSignature).put(std::uint32_t{0}).put(end.directory_offset + end.directory_bytes);
    record.put(std::uint32_t{1});
    PENSTOCK_TRY(out.append(record.view()));
  }
  Record<kEndBytes> record;
  record.put(kEndSignature).put(std::uint16_t{0}).put(std::uint16_t{0}).put(members).put(members);
  record.put(clamp32(end.directory_bytes)).put(clamp32(end.directory_offset)).put(std::uint16_t{0});
  return out.append(record.view());
}

}  // namespace penstock::zip

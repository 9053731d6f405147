#include "store/zip/directory.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "core/checked.hpp"
#include "penstock/store.hpp"
#include "store/key.hpp"

namespace penstock::zip {
namespace {

// One bit each for a length code of 258 bytes and its distance: deflate cannot expand more.
constexpr std::uint64_t kMaxExpansion = 1032;

Error corrupt(std::string message) { return {ErrorCode::corrupt_data, std::move(message)}; }

/// The end record, and where the directory must end: at it, or at the zip64 record before it.
struct End {
  EndRecord record;
  std::uint64_t offset = 0;
};

Result<End> read_zip64_end(const Source& source, End end, ByteView locator) {
  PENSTOCK_ASSIGN(const std::uint64_t told, parse_zip64_locator(locator));
  Bytes record;
  PENSTOCK_TRY(record.resize(kEnd64Bytes));
  // Right before the locator, wherever bytes put in front of the archive have moved it; else where the locator says.
  const std::uint64_t locator_offset = end.offset - kLocatorBytes;
  const std::uint64_t near = locator_offset >= kEnd64Bytes ? locator_offset - kEnd64Bytes : 0;
  const EndRecord plain = end.record;
  for (const std::uint64_t at : {near, told}) {
    if (at > locator_offset || locator_offset - at < kEnd64Bytes) continue;
    PENSTOCK_TRY(source.read(at, record.span()));
    end = {plain, at};
    if (apply_zip64_end(end.record, record)) return end;
  }
  return corrupt("no zip64 end record where the locator at byte " + std::to_string(locator_offset) + " says");
}

Result<End> read_end(const Source& source) {
  Bytes tail;
  const std::uint64_t size = source.size_bytes();
  PENSTOCK_TRY(tail.resize(std::min(size, kEndBytes + kMaxComment)));
  PENSTOCK_TRY(source.read(size - tail.size(), tail.span()));
  PENSTOCK_ASSIGN(const std::uint64_t at, find_end_record(tail));
  End end;
  end.offset = size - tail.size() + at;
  PENSTOCK_ASSIGN(end.record, parse_end_record(tail.view().subspan(at)));
  if (end.offset >= kLocatorBytes) {
    Bytes locator;
    PENSTOCK_TRY(locator.resize(kLocatorBytes));
    PENSTOCK_TRY(source.read(end.offset - kLocatorBytes, locator.span()));
    if (is_zip64_locator(locator)) {
      PENSTOCK_ASSIGN(end, read_zip64_end(source, end, locator));
    }
  }
  if (end.record.disk != 0 || end.record.directory_disk != 0)
    return Error(ErrorCode::unsupported, "an archive that is split over several files");
  return end;
}

/// Bytes that stand before the archive (a self-extractor): all offsets in it are meant without them.
Result<std::uint64_t> bytes_in_front(const End& end) {
  const EndRecord& record = end.record;
  if (record.directory_bytes > end.offset || record.directory_offset > end.offset - record.directory_bytes)
    return corrupt("the central directory (" + std::to_string(record.directory_bytes) + " bytes at byte " +
                   std::to_string(record.directory_offset) + ") does not fit before the end record at byte " +
                   std::to_string(end.offset) + ": the archive was cut");
  return end.offset - record.directory_bytes - record.directory_offset;
}

/// A member lies before the next one, or before the directory.  Two that begin at one byte overlap: both get no room.
void set_limits(Members& members, std::vector<std::uint64_t>& begins, std::uint64_t directory_offset) {
  std::sort(begins.begin(), begins.end());
  for (auto& [name, member] : members) {
    const auto [first, last] = std::equal_range(begins.begin(), begins.end(), member.header_offset);
    const std::uint64_t next = last == begins.end() ? directory_offset : std::min(*last, directory_offset);
    member.end_offset = last - first > 1 ? member.header_offset : next;
  }
}

Result<Members> parse_directory(ByteView bytes, const End& end, std::uint64_t in_front) {
  Members members;
  std::vector<std::uint64_t> begins;
  std::uint64_t count = 0;
  for (std::uint64_t at = 0; at < bytes.size(); ++count) {
    const std::string where = "central directory, entry " + std::to_string(count) + " at byte " +
                              std::to_string(end.offset - bytes.size() + at);
    PENSTOCK_ASSIGN_IN(CentralEntry entry, parse_central_entry(bytes.subspan(at)), where);
    at += entry.entry_bytes;
    PENSTOCK_ASSIGN_IN(entry.member.header_offset, checked_add(entry.member.header_offset, in_front), where);
    begins.push_back(entry.member.header_offset);
    std::string_view name = entry.name;
    const bool is_directory = name.ends_with('/');
    if (is_directory) name.remove_suffix(1);
    if (const Status status = check_key(name); !status) return corrupt(where + ": " + status.error().message());
    entry.member.version = next_version();
    if (!is_directory) members.insert_or_assign(std::string(name), entry.member);
  }
  if (count != end.record.members)
    return corrupt("the central directory has " + std::to_string(count) + " entries, the end record says " +
                   std::to_string(end.record.members));
  set_limits(members, begins, end.offset - bytes.size());
  return members;
}

Result<Members> read_directory_unnamed(const Source& source) {
  PENSTOCK_ASSIGN(const End end, read_end(source));
  PENSTOCK_ASSIGN(const std::uint64_t in_front, bytes_in_front(end));
  Bytes bytes;  // no larger than the file
  PENSTOCK_TRY(bytes.resize(end.record.directory_bytes));
  PENSTOCK_TRY(source.read(end.offset - end.record.directory_bytes, bytes.span()));
  return parse_directory(bytes, end, in_front);
}

/// What can be told from the central directory alone.
Status check_member(const Member& member) {
  if ((member.flags & (kFlagEncrypted | kFlagStrongEncryption)) != 0)
    return Error(ErrorCode::unsupported, "is encrypted");
  if (member.method != kStored && member.method != kDeflated)
    return Error(ErrorCode::unsupported,
                 "has compression method " + std::to_string(member.method) + "; known: 0 (stored) and 8 (deflate)");
  if (member.method == kStored && member.compressed_bytes != member.size_bytes)
    return corrupt("is stored, and yet has " + std::to_string(member.size_bytes) + " bytes in " +
                   std::to_string(member.compressed_bytes));
  if (member.method == kDeflated && member.size_bytes / kMaxExpansion > member.compressed_bytes)
    return corrupt("cannot hold " + std::to_string(member.size_bytes) + " bytes in " +
                   std::to_string(member.compressed_bytes) + " deflated ones (at most 1032 times as many)");
  return {};
}

/// Both headers must tell the same, or two programs would read two things from one archive.
Status check_agreement(const Member& member, const Member& local) {
  if (local.method != member.method) return corrupt("has another compression method in its local header");
  if ((local.flags & kFlagDescriptor) != 0) return {};  // crc and sizes stand behind the data
  if (local.compressed_bytes != member.compressed_bytes || local.size_bytes != member.size_bytes)
    return corrupt("has other sizes in its local header (" + std::to_string(local.size_bytes) + " in " +
                   std::to_string(local.compressed_bytes) + ") than in the central directory (" +
                   std::to_string(member.size_bytes) + " in " + std::to_string(member.compressed_bytes) + ")");
  if (local.crc32 != member.crc32) return corrupt("has another crc32 in its local header");
  return {};
}

Result<std::uint64_t> locate_data(const Source& source, std::string_view name, const Member& member) {
  const auto no_room = [&] {
    return corrupt("at byte " + std::to_string(member.header_offset) +
                   " runs into the member, or the central directory, at byte " + std::to_string(member.end_offset));
  };
  if (member.end_offset < member.header_offset) return no_room();
  const std::uint64_t room = member.end_offset - member.header_offset;
  if (room < kLocalBytes + name.size()) return no_room();
  // Header, name and a usual extra field in one read.
  constexpr std::uint64_t kUsualExtra = 64;
  Bytes bytes;
  PENSTOCK_TRY(bytes.resize(std::min(kLocalBytes + name.size() + kUsualExtra, room)));
  PENSTOCK_TRY(source.read(member.header_offset, bytes.span()));
  PENSTOCK_ASSIGN(LocalHeader local, parse_local_header(bytes));
  const std::uint64_t data = kLocalBytes + local.name_bytes + local.extra_bytes;
  if (data > room || member.compressed_bytes > room - data) return no_room();
  if (data > bytes.size()) {
    PENSTOCK_TRY(bytes.resize(data));
    PENSTOCK_TRY(source.read(member.header_offset, bytes.span()));
  }
  if (as_text(bytes.view().subspan(kLocalBytes, local.name_bytes)) != name)
    return corrupt("has another name in its local header: " +
                   quoted_key(as_text(bytes.view().subspan(kLocalBytes, local.name_bytes))));
  PENSTOCK_TRY(apply_zip64(local.member, bytes.view().subspan(kLocalBytes + local.name_bytes, local.extra_bytes)));
  PENSTOCK_TRY(check_agreement(member, local.member));
  return member.header_offset + data;
}

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

Status inflate(ByteView in, ByteSpan out) {
  if (in.empty()) return corrupt("holds an empty deflate stream");
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
  if (decompressor == nullptr) return Error(ErrorCode::out_of_memory, "no memory for a deflate decoder");
  std::byte nothing{};  // libdeflate wants a pointer even for an empty output
  std::size_t used = 0, made = 0;
  const libdeflate_result result = libdeflate_deflate_decompress_ex(
      decompressor.get(), in.data(), in.size(), out.empty() ? &nothing : out.data(), out.size(), &used, &made);
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
    return corrupt("holds more than the " + std::to_string(out.size()) + " bytes that it declares");
  if (result != LIBDEFLATE_SUCCESS) return corrupt("holds a corrupt deflate stream");
  if (made != out.size())
    return corrupt("holds " + std::to_string(made) + " bytes and declares " + std::to_string(out.size()));
  if (used != in.size())
    return corrupt("holds a deflate stream that ends at byte " + std::to_string(used) + " of " +
                   std::to_string(in.size()));
  return {};
}

Status read_member_unnamed(const Source& source, const Member& member, std::uint64_t data_offset, Bytes& out) {
  PENSTOCK_TRY(out.resize_discard(member.size_bytes));
  if (member.method == kStored) {
    PENSTOCK_TRY(source.read(data_offset, out.span()));
  } else {
    Bytes compressed;
    PENSTOCK_TRY(compressed.resize_discard(member.compressed_bytes));
    PENSTOCK_TRY(source.read(data_offset, compressed.span()));
    PENSTOCK_TRY(inflate(compressed, out.span()));
  }
  return check_crc(member, out);
}

Status compare_crc(const Member& member, std::uint32_t crc32) {
  if (crc32 == member.crc32) return {};
  return corrupt("has a wrong crc32: its bytes were changed");
}

}  // namespace

std::uint64_t next_version() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Status check_crc(const Member& member, ByteView bytes) {
  // A null pointer would ask libdeflate for the initial value, which is that of no bytes too.
  return compare_crc(member, libdeflate_crc32(0, bytes.data(), bytes.size()));
}

Status check_stored(const Source& source, const Member& member, std::uint64_t data_offset) {
  constexpr std::uint64_t kPieceBytes = 1 << 20;
  Bytes piece;
  std::uint32_t crc32 = 0;
  for (std::uint64_t at = 0; at < member.size_bytes; at += piece.size()) {
    PENSTOCK_TRY(piece.resize_discard(std::min(kPieceBytes, member.size_bytes - at)));
    PENSTOCK_TRY(source.read(data_offset + at, piece.span()));
    crc32 = libdeflate_crc32(crc32, piece.data(), piece.size());
  }
  return compare_crc(member, crc32);
}

std::string member_text(const Source& source, std::string_view name) {
  return source.name() + ": member " + quoted_key(name);
}

Result<Members> read_directory(const Source& source) {
  auto members = read_directory_unnamed(source);
  if (!members) members.error().add_context(source.name());
  return members;
}

Result<std::uint64_t> find_data(const Source& source, std::string_view name, const Member& member) {
  PENSTOCK_TRY_IN(check_member(member), member_text(source, name));
  PENSTOCK_ASSIGN_IN(const std::uint64_t offset, locate_data(source, name, member), member_text(source, name));
  return offset;
}

Result<std::uint64_t> find_end(const Source& source, std::string_view name, const Member& member) {
  constexpr std::uint64_t kMaxDescriptor = 24;  // with signature and sizes of 64 bits; copying too much does no harm
  PENSTOCK_ASSIGN_IN(const std::uint64_t data, locate_data(source, name, member), member_text(source, name));
  const std::uint64_t end = data + member.compressed_bytes;
  return (member.flags & kFlagDescriptor) == 0 ? end : std::min(end + kMaxDescriptor, member.end_offset);
}

Status read_member(const Source& source, std::string_view name, const Member& member, std::uint64_t data_offset,
                   Bytes& out) {
  PENSTOCK_TRY_IN(read_member_unnamed(source, member, data_offset, out), member_text(source, name));
  return {};
}

}  // namespace penstock::zip

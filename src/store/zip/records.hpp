// The records of a ZIP archive as bytes (PKWARE APPNOTE 6.3: 4.3.7 local header, 4.3.12 central header, 4.3.14
// and 4.3.15 zip64 end records, 4.3.16 end record, 4.5.3 zip64 extra field).  Pure bytes: no I/O.
#pragma once
#include <cstdint>
#include <string_view>

#include "penstock/bytes.hpp"
#include "penstock/error.hpp"

namespace penstock::zip {

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kDeflated = 8;

inline constexpr std::uint16_t kFlagEncrypted = 1 << 0;
inline constexpr std::uint16_t kFlagDescriptor = 1 << 3;  ///< sizes and crc stand behind the data, not before
inline constexpr std::uint16_t kFlagStrongEncryption = 1 << 6;
inline constexpr std::uint16_t kFlagUtf8 = 1 << 11;

inline constexpr std::uint64_t kLocalBytes = 30;    ///< local header without name and extra field
inline constexpr std::uint64_t kEndBytes = 22;      ///< end record without comment
inline constexpr std::uint64_t kEnd64Bytes = 56;    ///< zip64 end record without extensible data
inline constexpr std::uint64_t kLocatorBytes = 20;  ///< zip64 end locator
inline constexpr std::uint64_t kMaxComment = 0xffff;

/// What the central directory tells of a member.
struct Member {
  std::uint64_t header_offset = 0;  ///< of the local header, from the begin of the file
  std::uint64_t compressed_bytes = 0;
  std::uint64_t size_bytes = 0;
  /// Where the next member or the central directory begins: no byte of this member may lie there or behind.
  std::uint64_t end_offset = 0;
  std::uint32_t crc32 = 0;
  std::uint16_t method = kStored;
  std::uint16_t flags = 0;
  // Kept only to be written again when the archive is changed.
  std::uint16_t made_by = 0;
  std::uint32_t dos_date_time = 0;
  std::uint32_t external_attributes = 0;
  /// Another number for every content that this process has met; stays when the member moves to a new archive.
  std::uint64_t version = 0;
};

struct CentralEntry {
  Member member;
  std::string_view name;          ///< points into the bytes that were parsed
  std::uint64_t entry_bytes = 0;  ///< with name, extra field and comment
};
/// The entry at the begin of `bytes`.  Errors: corrupt_data, without the name of the archive.
Result<CentralEntry> parse_central_entry(ByteView bytes);

struct LocalHeader {
  Member member;  ///< flags, method, crc32 and sizes only
  std::uint64_t name_bytes = 0;
  std::uint64_t extra_bytes = 0;
};
/// The first kLocalBytes of a member.  Its sizes may still be 0xffffffff: `apply_zip64` completes them.
Result<LocalHeader> parse_local_header(ByteView bytes);
/// Replaces sizes of 0xffffffff by those of the zip64 field in `extra`.  Errors: corrupt_data.
Status apply_zip64(Member& member, ByteView extra);

/// Where the central directory is.
struct EndRecord {
  std::uint64_t members = 0;
  std::uint64_t directory_bytes = 0;
  std::uint64_t directory_offset = 0;
  std::uint32_t disk = 0;  ///< number of this disk and of the directory's: 0 in an archive of one file
  std::uint32_t directory_disk = 0;
};
/// Position of the end record in `tail`, the last bytes of the file.  Errors: corrupt_data.
Result<std::uint64_t> find_end_record(ByteView tail);
Result<EndRecord> parse_end_record(ByteView bytes);
/// Whether some field of the end record says "see the zip64 record".
bool needs_zip64(const EndRecord& end);
/// Offset of the zip64 end record; the bytes are the locator's.  Errors: corrupt_data when they are no locator.
Result<std::uint64_t> parse_zip64_locator(ByteView bytes);
bool is_zip64_locator(ByteView bytes);
/// Takes over what `end` leaves open.  Errors: corrupt_data.
Status apply_zip64_end(EndRecord& end, ByteView record);

/// Whether a local header has room for sizes of 64 bits.
enum class Room64 : bool { where_needed, always };
/// Appends the local header, of a member whose sizes and crc are known.
Status append_local_header(Bytes& out, std::string_view name, const Member& member, Room64 room = Room64::where_needed);
Status append_central_entry(Bytes& out, std::string_view name, const Member& member);
/// Appends the end record, with the zip64 records before it where a value needs them.
Status append_end_records(Bytes& out, const EndRecord& end);

}  // namespace penstock::zip

// The central directory: which members an archive has and where.  Reading one member's bytes.
//
// Read by our own code and not by libzip: an archive handle of libzip is not thread-safe, its seeks in a member are,
// and it hides where the bytes lie.  Byte ranges of stored members, read by many threads, are what chunks need; the
// sizes of hostile archives must be checked before memory is taken.  Deflate is libdeflate's.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "penstock/bytes.hpp"
#include "penstock/error.hpp"
#include "store/zip/records.hpp"

namespace penstock::zip {

/// The bytes of an archive.  Thread-safe.
class Source {
 public:
  virtual ~Source() = default;
  /// For messages: the path of the archive.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  /// Errors: corrupt_data past the end, io_error; they need not name the archive.
  [[nodiscard]] virtual Status read(std::uint64_t offset_bytes, ByteSpan into) const = 0;
};

/// The next Member::version.
std::uint64_t next_version();

/// Members by name.  Entries of directories ("a/") are left out.
using Members = std::map<std::string, Member, std::less<>>;

/// Reads the central directory.  Of two members with one name the later entry counts, as zipfile and zarr-python have
/// it: a ZipStore that rewrites a key appends the name again.
/// Errors: corrupt_data (cut off, entries that do not add up, names that are absolute or hold ".."), unsupported (an
/// archive of many disks).
Result<Members> read_directory(const Source& source);

/// Where the data of a member begins, once its two headers agree and it keeps out of its neighbours.
/// Errors: corrupt_data, unsupported (encrypted, a method other than stored and deflated); naming archive and member.
Result<std::uint64_t> find_data(const Source& source, std::string_view name, const Member& member);

/// First byte behind the data of a member and what describes it, also of one that we cannot decode.
Result<std::uint64_t> find_end(const Source& source, std::string_view name, const Member& member);

/// The whole member at `data_offset` into `out`, its checksum verified.
Status read_member(const Source& source, std::string_view name, const Member& member, std::uint64_t data_offset,
                   Bytes& out);

/// Errors: corrupt_data when `bytes` are not what the archive's maker put in.
Status check_crc(const Member& member, ByteView bytes);
/// The same for the data of a stored member, read piece by piece.  Errors: corrupt_data, io_error.
Status check_stored(const Source& source, const Member& member, std::uint64_t data_offset);

/// "archive.zip: member 'name'"
std::string member_text(const Source& source, std::string_view name);

}  // namespace penstock::zip

#include "store/zip/writer.hpp"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "core/checked.hpp"
#include "store/file/to_disk.hpp"

namespace penstock::zip {
namespace {

constexpr std::uint16_t kMadeByUnix = (3 << 8) | 45;
constexpr std::uint32_t kFileMode = 0100644u << 16;
// 1980-01-01, the first date that ZIP knows: the same content makes the same archive.
constexpr std::uint32_t kDosDateTime = ((0u << 9) | (1u << 5) | 1u) << 16;

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

/// ZIP names are either UTF-8, and say so, or bytes of an old code page; ours that are not UTF-8 stay unmarked bytes.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
    const unsigned lead = byte(i);
    const std::size_t more = lead < 0x80 ? 0 : lead >= 0xc2 && lead < 0xe0 ? 1 : (lead & 0xf0) == 0xe0 ? 2 : 3;
    if (more == 3 && (lead < 0xf0 || lead > 0xf4)) return false;
    unsigned value = more == 0 ? lead : lead & (0x3fu >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
      value = value << 6 | (byte(i + k) & 0x3f);
    }
    // Longer than needed, a surrogate, or beyond the last code point.
    if ((more == 2 && (value < 0x800 || (value >= 0xd800 && value < 0xe000))) ||
        (more == 3 && (value < 0x10000 || value > 0x10ffff)))
      return false;
    i += more + 1;
  }
  return true;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Result<Member> describe(std::string_view name, std::uint64_t size_bytes, std::uint32_t crc32) {
  if (name.size() > 0xffff)
    return Error(ErrorCode::invalid_argument, "a name of " + std::to_string(name.size()) + " bytes; ZIP has 65535");
  Member member;
  member.made_by = kMadeByUnix;
  member.external_attributes = kFileMode;
  member.dos_date_time = kDosDateTime;
  if (!is_ascii(name) && is_utf8(name)) member.flags = kFlagUtf8;
  member.crc32 = crc32;
  member.size_bytes = member.compressed_bytes = size_bytes;
  member.version = next_version();
  return member;
}

constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;

/// Calls `use(offset, piece)` for the first `bytes` of a file, one piece after the other.
template <class Use>
Status each_piece(int fd, std::uint64_t bytes, const std::function<Status()>& check, const Use& use) {
  Bytes piece;
  for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
    PENSTOCK_TRY(check());
    PENSTOCK_TRY(piece.resize_discard(std::min(kPiece, bytes - done)));
    PENSTOCK_TRY(read_at(fd, done, piece.span(), "the temporary file"));
    PENSTOCK_TRY(use(done, piece.view()));
  }
  return {};
}

/// A file that is removed at the end of its scope, also where memory runs out in it; null: none.
struct Removed {
  const char* name;
  ~Removed() {
    if (name != nullptr) ::unlink(name);
  }
};

std::string temporary_of(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 = 0
  return path.substr(0, name) + "." + path.substr(name) + ".penstock.tmp";
}

}  // namespace

FileSource::FileSource(FileDescriptor fd, std::string name, std::uint64_t size)
    : fd_(std::move(fd)), name_(std::move(name)), size_(size) {}

Status FileSource::read(std::uint64_t offset_bytes, ByteSpan into) const {
  return read_at(fd_.get(), offset_bytes, into, "reading");
}

Result<bool> FileSource::still_named() const {
  struct stat named{}, open{};
  if (::fstat(fd_.get(), &open) != 0) return errno_error(errno, name_);
  if (::stat(name_.c_str(), &named) != 0) {
    if (errno == ENOENT) return false;
    return errno_error(errno, name_);
  }
  return same_file(named, open);
}

bool begins_as_archive(const std::string& path) {
  const FileDescriptor fd = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  std::array<char, 4> begin{};
  if (!fd || !read_at(fd.get(), 0, std::as_writable_bytes(std::span(begin)), path)) return false;
  const std::string_view text(begin.data(), begin.size());
  return text == "PK\3\4" || text == "PK\5\6";
}

Result<std::shared_ptr<const FileSource>> open_source(const std::string& path) {
  FileDescriptor fd = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return errno_error(errno, path);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, path);
  if (S_ISDIR(info.st_mode)) return errno_error(EISDIR, path);
  if (!S_ISREG(info.st_mode)) return Error(ErrorCode::unsupported, path + ": not a regular file");
  return std::make_shared<const FileSource>(std::move(fd), path, static_cast<std::uint64_t>(info.st_size));
}

Result<std::unique_ptr<Writer>> Writer::begin(const std::string& path) {
  std::unique_ptr<Writer> writer(new Writer(path, temporary_of(path)));
  for (bool locked = false; !locked;) {
    PENSTOCK_ASSIGN(locked, writer->open_and_lock());
  }
  return writer;
}

// False: the file got its final name between our opening and locking it; there is a next one to be made.
Result<bool> Writer::open_and_lock() {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW;
  FileDescriptor fd = open_at(AT_FDCWD, temporary_.c_str(), kFlags | O_CREAT | O_EXCL);
  Removed ours{fd ? temporary_.c_str() : nullptr};
  if (!fd && errno == EEXIST) fd = open_at(AT_FDCWD, temporary_.c_str(), kFlags);
  if (!fd && errno == ENOENT) return false;
  if (!fd) return errno_error(errno, temporary_);
  if (uninterrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0) {
    const int failed = errno;
    if (failed == EWOULDBLOCK) {
      ours.name = nullptr;
      return Error(ErrorCode::already_exists, path_ + ": another writer has this archive open");
    }
    return errno_error(failed, temporary_)
        .set_hint("the file system cannot lock files: write the archive elsewhere and move it");
  }
  struct stat named{}, open{};
  if (::fstat(fd.get(), &open) != 0) return errno_error(errno, temporary_);
  if (::fstatat(AT_FDCWD, temporary_.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 || !same_file(named, open)) {
    ours.name = nullptr;
    return false;
  }
  ours.name = temporary_.c_str();                                    // we have its lock
  if (uninterrupted([&] { return ::ftruncate(fd.get(), 0); }) != 0)  // what a killed writer left
    return errno_error(errno, temporary_);
  file_ = std::make_shared<const FileSource>(std::move(fd), path_, 0);
  ours.name = nullptr;
  return true;
}

Result<std::optional<std::string>> Writer::remove_left_behind(const std::string& path) {
  std::string temporary = temporary_of(path);
  struct stat named{}, open{};
  const FileDescriptor fd = open_at(AT_FDCWD, temporary.c_str(), O_RDWR | O_NOFOLLOW);
  if (!fd && errno == ENOENT) return std::optional<std::string>();
  if (!fd || ::fstat(fd.get(), &open) != 0) return errno_error(errno, temporary);
  if (uninterrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0)
    return std::optional<std::string>();  // its writer lives
  if (::fstatat(AT_FDCWD, temporary.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 || !same_file(named, open))
    return std::optional<std::string>();
  if (::unlink(temporary.c_str()) != 0) return errno_error(errno, temporary);
  return std::optional(std::move(temporary));
}

Writer::~Writer() {
  // While our lock holds nobody else can have put another file under the name.
  if (file_ != nullptr && !finished_) ::unlink(temporary_.c_str());
}

Status Writer::copy_from(const Source& source, Members& members) {
  std::vector<std::pair<std::string_view, Member*>> order;
  for (auto& [name, member] : members) order.emplace_back(name, &member);
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second->header_offset < b.second->header_offset; });
  Bytes piece;
  for (auto& [name, member] : order) {
    PENSTOCK_ASSIGN(const std::uint64_t end, find_end(source, name, *member));
    const std::uint64_t begin = member->header_offset, bytes = end - begin;
    for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
      PENSTOCK_TRY(piece.resize_discard(std::min(kPiece, bytes - done)));
      PENSTOCK_TRY_IN(source.read(begin + done, piece.span()), member_text(source, name));
      const ByteView part = piece;
      PENSTOCK_TRY(write_at(file_->fd(), end_ + done, {&part, 1}, temporary_));
    }
    member->header_offset = end_;
    member->end_offset = end_ += bytes;
  }
  return {};
}

Result<Bytes> Writer::make_room(std::string_view name, Member& member) {
  Bytes header;
  PENSTOCK_TRY(append_local_header(header, name, member));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_add(header.size(), member.size_bytes));
  const std::scoped_lock lock(mutex_);
  member.header_offset = end_;
  PENSTOCK_ASSIGN(end_, checked_add(end_, bytes));
  member.end_offset = end_;
  return header;
}

void Writer::give_back(const Member& member) {
  const std::scoped_lock lock(mutex_);
  if (end_ == member.end_offset) end_ = member.header_offset;
}

Result<Member> Writer::append(std::string_view name, std::span<const ByteView> parts) {
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  for (const ByteView part : parts) {
    PENSTOCK_ASSIGN(size, checked_add(size, part.size()));
    if (!part.empty()) crc = libdeflate_crc32(crc, part.data(), part.size());
  }
  PENSTOCK_ASSIGN_IN(Member member, describe(name, size, crc), member_text(*file_, name));
  PENSTOCK_ASSIGN(const Bytes header, make_room(name, member));
  std::vector<ByteView> all{header};
  all.insert(all.end(), parts.begin(), parts.end());
  Status status = write_at(file_->fd(), member.header_offset, all, temporary_);
  if (status) return member;
  give_back(member);
  return std::move(status.error().add_context(member_text(*file_, name)));
}

Result<Member> Writer::append_file(std::string_view name, int fd, std::uint64_t bytes,
                                   const std::function<Status()>& check, std::optional<std::uint32_t> crc32) {
  const std::string where = member_text(*file_, name);
  std::uint32_t crc = crc32.value_or(0);
  if (!crc32)
    PENSTOCK_TRY_IN(each_piece(fd, bytes, check,
                               [&](std::uint64_t, ByteView piece) -> Status {
                                 crc = libdeflate_crc32(crc, piece.data(), piece.size());
                                 return {};
                               }),
                    where);
  PENSTOCK_ASSIGN_IN(Member member, describe(name, bytes, crc), where);
  PENSTOCK_ASSIGN(const Bytes header, make_room(name, member));
  const ByteView head = header;
  Status status = write_at(file_->fd(), member.header_offset, {&head, 1}, temporary_);
  if (status)
    status = each_piece(fd, bytes, check, [&](std::uint64_t done, ByteView piece) {
      return write_at(file_->fd(), member.header_offset + header.size() + done, {&piece, 1}, temporary_);
    });
  if (status) return member;
  give_back(member);
  return std::move(status.error().add_context(where));
}

Result<Writer::Growing> Writer::begin_growing(std::string_view name) {
  Growing growing;
  growing.name = name;
  PENSTOCK_ASSIGN_IN(growing.member, describe(name, 0, 0), member_text(*file_, name));
  Bytes header;
  PENSTOCK_TRY(append_local_header(header, name, growing.member, Room64::always));
  growing.header_bytes = header.size();
  const std::scoped_lock lock(mutex_);
  growing.member.header_offset = end_;
  PENSTOCK_ASSIGN(end_, checked_add(end_, header.size()));
  return growing;
}

Status Writer::write_growing(const Growing& growing, std::uint64_t at, ByteView part) const {
  const std::uint64_t begin = growing.member.header_offset + growing.header_bytes;
  PENSTOCK_TRY_IN(write_at(file_->fd(), begin + at, {&part, 1}, temporary_), member_text(*file_, growing.name));
  return {};
}

Result<Member> Writer::end_growing(const Growing& growing, std::uint64_t bytes, std::uint32_t crc32) {
  Member member = growing.member;
  member.crc32 = crc32;
  member.size_bytes = member.compressed_bytes = bytes;
  Bytes header;
  PENSTOCK_TRY(append_local_header(header, growing.name, member, Room64::always));
  PENSTOCK_ASSIGN(member.end_offset, checked_add(member.header_offset + growing.header_bytes, bytes));
  {
    const std::scoped_lock lock(mutex_);
    end_ = member.end_offset;
  }
  const ByteView head = header;
  PENSTOCK_TRY_IN(write_at(file_->fd(), member.header_offset, {&head, 1}, temporary_),
                  member_text(*file_, growing.name));
  return member;
}

/// The file's bytes on the disk, where that is asked for, and no error of a file system that tells only at close.
Status Writer::force(const FileSource* replaces, Durable durable) const {
  // The old archive may go only when the new one is on the disk: it may hold what nobody has a second time.
  if ((replaces != nullptr || durable != Durable::none) && uninterrupted([&] { return ::fsync(file_->fd()); }) != 0)
    return errno_error(errno, temporary_);
  FileDescriptor again(::fcntl(file_->fd(), F_DUPFD_CLOEXEC, 0));  // the file stays open: what it holds is read
  if (!again) return errno_error(errno, temporary_);
  if (const int why = again.close(); why != 0) return errno_error(why, temporary_);
  return {};
}

Status Writer::finish(const Members& members, const FileSource* replaces, Durable durable) {
  EndRecord end;
  Bytes directory;
  for (const auto& [name, member] : members) PENSTOCK_TRY(append_central_entry(directory, name, member));
  end.members = members.size();
  end.directory_bytes = directory.size();
  end.directory_offset = end_;
  PENSTOCK_TRY(append_end_records(directory, end));
  const ByteView bytes = directory;
  PENSTOCK_TRY(write_at(file_->fd(), end_, {&bytes, 1}, temporary_));
  // Bytes behind the end record, left by a write or a finish that failed, would hide it.
  if (uninterrupted([&] { return ::ftruncate(file_->fd(), static_cast<off_t>(end_ + bytes.size())); }) != 0)
    return errno_error(errno, temporary_);
  if (replaces != nullptr) {
    struct stat info{};
    if (::fstat(replaces->fd(), &info) == 0) (void)::fchmod(file_->fd(), info.st_mode & 07777);
  }
  PENSTOCK_TRY(force(replaces, durable));
  if (replaces == nullptr && ::access(path_.c_str(), F_OK) == 0)
    return Error(ErrorCode::already_exists, path_ + ": another program has made this archive meanwhile");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return errno_error(errno, path_);
  finished_ = true;
  return durable == Durable::none ? Status() : force_directory(path_.substr(0, path_.rfind('/') + 1));
}

}  // namespace penstock::zip

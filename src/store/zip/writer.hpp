// An archive under construction: a hidden file beside the one that it will become.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "penstock/store_options.hpp"
#include "store/posix.hpp"
#include "store/zip/directory.hpp"

namespace penstock::zip {

/// An archive as an open file; it stays readable when its name goes to another.
class FileSource final : public Source {
 public:
  FileSource(FileDescriptor fd, std::string name, std::uint64_t size);
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::uint64_t size_bytes() const override { return size_; }
  [[nodiscard]] Status read(std::uint64_t offset_bytes, ByteSpan into) const override;
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Whether the file's name still leads to it.
  [[nodiscard]] Result<bool> still_named() const;

 private:
  FileDescriptor fd_;
  std::string name_;
  std::uint64_t size_;
};

/// Whether the file's first bytes are those of a ZIP archive; false when it cannot be read.
bool begins_as_archive(const std::string& path);

/// Opens an archive for reading.  Errors: not_found, permission_denied, io_error.
Result<std::shared_ptr<const FileSource>> open_source(const std::string& path);

/// Writes ".NAME.penstock.tmp" and gives it the archive's name when it is finished.  The file is locked: a second
/// writer of the archive is refused, and what a killed writer left is taken over by the next.
class Writer {
 public:
  /// Errors: already_exists (another writer), permission_denied, io_error, no_space.
  static Result<std::unique_ptr<Writer>> begin(const std::string& path);
  /// Removes what a killed writer left, if anything; its path.
  static Result<std::optional<std::string>> remove_left_behind(const std::string& path);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// Removes the file unless it was finished.
  ~Writer();

  /// Copies the members of another archive, which get their new places.  Errors: corrupt_data when members overlap.
  Status copy_from(const Source& source, Members& members);
  /// Writes one stored member.  Many threads may do so at once.
  Result<Member> append(std::string_view name, std::span<const ByteView> parts);
  /// The same with the first `bytes` of a file.  `check` is asked now and then; its error ends the work.  `crc32`: of
  /// these bytes, where it is known; else they are read twice.
  Result<Member> append_file(std::string_view name, int fd, std::uint64_t bytes, const std::function<Status()>& check,
                             std::optional<std::uint32_t> crc32 = {});
  /// A stored member whose size is known at its end.
  struct Growing {
    std::string name;
    Member member;
    std::uint64_t header_bytes = 0;
  };
  /// Begins one behind all members.  Until end_growing no other may be appended.
  Result<Growing> begin_growing(std::string_view name);
  /// Writes a part of one, `at` bytes behind its begin.  Many threads may do so at once.
  [[nodiscard]] Status write_growing(const Growing& growing, std::uint64_t at, ByteView part) const;
  /// Ends one of `bytes`, all of which were written.
  Result<Member> end_growing(const Growing& growing, std::uint64_t bytes, std::uint32_t crc32);
  /// Writes the central directory and renames.  No append may be under way.  `replaces`: the archive that loses its
  /// name.  Unless `durable` is none, the archive and its name are on the disk afterwards.
  Status finish(const Members& members, const FileSource* replaces, Durable durable);
  /// Whether it has the archive's name; a finish that failed later could only not force that to the disk.
  [[nodiscard]] bool finished() const { return finished_; }
  /// The file, to read back what was written.
  [[nodiscard]] std::shared_ptr<const FileSource> source() const { return file_; }

 private:
  Writer(std::string path, std::string temporary) : path_(std::move(path)), temporary_(std::move(temporary)) {}
  Result<bool> open_and_lock();
  /// Gives the member a place behind all others, and the bytes of its header.
  Result<Bytes> make_room(std::string_view name, Member& member);
  /// Takes the place back when nobody has got one behind it.
  void give_back(const Member& member);
  Status force(const FileSource* replaces, Durable durable) const;

  std::string path_;
  std::string temporary_;
  std::shared_ptr<const FileSource> file_;
  bool finished_ = false;
  std::mutex mutex_;       // guards end_
  std::uint64_t end_ = 0;  // bytes that are given out
};

}  // namespace penstock::zip

// What all writers of objects share, and the temporary file that most of them write to.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "penstock/store.hpp"
#include "store/posix.hpp"

namespace penstock {

/// Keeps the promises of ObjectWriter: no commit after a write that failed, none twice.  Many threads may write parts
/// at a time that do not overlap.
class CheckedWriter : public ObjectWriter {
 public:
  std::uint64_t size_bytes() const final { return size_bytes_.load(); }
  Status write_at(std::uint64_t offset_bytes, ByteView bytes) final;
  using ObjectWriter::commit;
  Status commit(const WriteCondition& condition, const CancelToken& cancel) final;

 protected:
  explicit CheckedWriter(std::string where) : where_(std::move(where)) {}
  /// Never with no bytes, nor with an end beyond what a file can have.  Called from many threads at a time.
  virtual Status put(std::uint64_t offset_bytes, ByteView bytes) = 0;
  virtual Status finish(const WriteCondition& condition, const CancelToken& cancel) = 0;
  /// The object, for messages.
  const std::string where_;

 private:
  std::atomic<std::uint64_t> size_bytes_{0};
  bool closed_ = false;
  std::atomic<bool> failed_{false};
};

/// A file without a name, gone with its descriptor or its process.
/// Errors: permission_denied, no_space, io_error, naming the directory.
Result<FileDescriptor> make_nameless_file(const std::string& directory);

/// A writer over a nameless file.
class SpoolWriter : public CheckedWriter {
 protected:
  SpoolWriter(std::string where, FileDescriptor fd) : CheckedWriter(std::move(where)), fd_(std::move(fd)) {}
  Status put(std::uint64_t offset_bytes, ByteView bytes) final;
  const FileDescriptor fd_;
};

}  // namespace penstock

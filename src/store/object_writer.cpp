#include "store/object_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "store/condition.hpp"
#include "store/key.hpp"

namespace penstock {

Status CheckedWriter::write_at(std::uint64_t offset_bytes, ByteView bytes) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;  // file offsets have a sign
  if (closed_) return Error(ErrorCode::closed, where_ + ": the object was committed already");
  if (bytes.empty()) return {};
  if (offset_bytes > kMaxBytes || bytes.size() > kMaxBytes - offset_bytes)
    return Error(ErrorCode::out_of_range, where_ + ": no object is as large as byte " + std::to_string(offset_bytes));
  if (Status status = put(offset_bytes, bytes); !status) {
    failed_ = true;
    return status;
  }
  const std::uint64_t end = offset_bytes + bytes.size();
  for (std::uint64_t size = size_bytes_.load(); size < end && !size_bytes_.compare_exchange_weak(size, end);) {
  }
  return {};
}

Status CheckedWriter::commit(const WriteCondition& condition, const CancelToken& cancel) {
  if (closed_) return Error(ErrorCode::closed, where_ + ": the object was committed already");
  closed_ = true;
  if (failed_) return Error(ErrorCode::io_error, where_ + ": not committed: a part of it could not be written");
  return finish(condition, cancel);
}

Result<FileDescriptor> make_nameless_file(const std::string& directory) {
  FileDescriptor fd = open_at(AT_FDCWD, directory.c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd) return fd;
  // A file system without such files: one that loses its name at once.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return errno_error(errno, directory);
  std::string name = join_key(directory, ".penstock-XXXXXX");
  fd = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) return errno_error(errno, directory);
  if (::unlink(name.c_str()) != 0) return errno_error(errno, name);
  return fd;
}

Status SpoolWriter::put(std::uint64_t offset_bytes, ByteView bytes) {
  return penstock::write_at(fd_.get(), offset_bytes, {&bytes, 1}, where_);
}

namespace {

/// For stores that take objects only as a whole.
class WholeWriter final : public SpoolWriter {
 public:
  WholeWriter(Store& store, std::string_view key, FileDescriptor fd)
      : SpoolWriter(join_key(store.url(), key), std::move(fd)), store_(store), key_(key) {}

 protected:
  Status finish(const WriteCondition& condition, const CancelToken& cancel) override {
    Bytes whole;
    PENSTOCK_TRY_IN(whole.resize_discard(size_bytes()), where_);
    PENSTOCK_TRY(read_at(fd_.get(), 0, whole.span(), where_));
    const ByteView part = whole;
    return store_.set_if(key_, {&part, 1}, condition, cancel);
  }

 private:
  Store& store_;
  const std::string key_;
};

}  // namespace

Result<std::unique_ptr<ObjectWriter>> Store::writer(std::string_view key) {
  if (!writable()) return read_only_error(url());
  PENSTOCK_TRY(check_key(key));
  const char* directory = std::getenv("TMPDIR");
  PENSTOCK_ASSIGN(FileDescriptor fd,
                  make_nameless_file(directory != nullptr && *directory != '\0' ? directory : "/tmp"));
  return std::unique_ptr<ObjectWriter>(std::make_unique<WholeWriter>(*this, key, std::move(fd)));
}

}  // namespace penstock

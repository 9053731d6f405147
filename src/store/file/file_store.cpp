#include "store/file/file_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "store/condition.hpp"
#include "store/file/directory_lock.hpp"
#include "store/file/walk.hpp"
#include "store/key.hpp"
#include "store/locks.hpp"
#include "store/object_writer.hpp"
#include "store/posix.hpp"

namespace penstock {
namespace {

/// The directory, held open: keys are found below it even when it is renamed, and no key can leave it (check_key
/// refuses ".."; symbolic links are the owner's own doing and are followed, as zarr-python does).
struct Directory {
  FileDescriptor fd;
  std::string name;
};

/// Whether two looks saw the same content of the same file.
bool is_same(const struct stat& a, const struct stat& b) {
  const auto same_time = [](const timespec& x, const timespec& y) {
    return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec;
  };
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size && same_time(a.st_mtim, b.st_mtim) &&
         same_time(a.st_ctim, b.st_ctim);
}

/// What stands behind an open file.  Errors: is_directory; unsupported for pipes and devices.
Result<struct stat> look_at(int fd, FileName file) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno_error(errno, file);
  if (S_ISDIR(info.st_mode)) return errno_error(EISDIR, file);
  if (!S_ISREG(info.st_mode)) return Error(ErrorCode::unsupported, file.text() + ": not a regular file");
  return info;
}
std::uint64_t size_of(const struct stat& info) { return static_cast<std::uint64_t>(info.st_size); }

/// Fingerprint of a file's content by inode, times and size; 0: not known.  A file that changed a moment ago has none:
/// file times move in steps of some milliseconds and inodes are used again, so the next version could look the same.
std::uint64_t version_of(const struct stat& info) {
  constexpr std::int64_t kSettledAfterMs = 100;
  const auto ms = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000; };
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (ms(now) - std::max(ms(info.st_mtim), ms(info.st_ctim)) < kSettledAfterMs) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a over whole numbers, each spread by the shift
  for (const std::uint64_t part :
       {std::uint64_t{info.st_dev}, std::uint64_t{info.st_ino}, size_of(info),
        static_cast<std::uint64_t>(info.st_mtim.tv_sec), static_cast<std::uint64_t>(info.st_mtim.tv_nsec),
        static_cast<std::uint64_t>(info.st_ctim.tv_sec), static_cast<std::uint64_t>(info.st_ctim.tv_nsec)}) {
    hash = (hash ^ part) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash == 0 ? 1 : hash;
}

class FileObject final : public Object {
 public:
  FileObject(std::shared_ptr<const Directory> root, std::string key, FileDescriptor fd, const struct stat& info)
      : root_(std::move(root)),
        key_(std::move(key)),
        fd_(std::move(fd)),
        info_(info),
        size_(size_of(info)),
        version_(version_of(info)) {}
  std::uint64_t size_bytes() const override { return size_; }
  std::uint64_t version() const override { return version_; }
  // A pin holds the file, so no other can have its inode: that tells versions apart which are too young for a number.
  bool is_version(const ObjectVersion& wanted) const override {
    const auto* pinned = dynamic_cast<const FileObject*>(wanted.pin.get());
    return pinned != nullptr ? is_same(info_, pinned->info_) : Object::is_version(wanted);
  }
  Status read(std::uint64_t offset_bytes, ByteSpan into) const override {
    if (offset_bytes > size_ || into.size() > size_ - offset_bytes)
      return Error(ErrorCode::corrupt_data, join_key(root_->name, key_) + ": the file has " + std::to_string(size_) +
                                                " bytes, wanted " + std::to_string(into.size()) + " bytes from byte " +
                                                std::to_string(offset_bytes));
    return read_at(fd_.get(), offset_bytes, into, {root_->name, key_});
  }

 private:
  std::shared_ptr<const Directory> root_;
  std::string key_;
  FileDescriptor fd_;
  struct stat info_;
  std::uint64_t size_;
  std::uint64_t version_;
};

/// A file that is being written, beside the one that it will become.
struct Temporary {
  FileDescriptor fd;  ///< invalid: errno says why
  std::string path;   ///< below the root
};

class FileStore final : public Store {
 public:
  FileStore(std::shared_ptr<const Directory> root, bool writable, bool locks)
      : root_(std::move(root)), writable_(writable), locks_(locks) {}
  std::string url() const override { return root_->name; }
  std::string path_taken() const override {
    return locks_ ? "file, buffered" : "file, buffered, no locks between processes (the file system has none)";
  }
  bool writable() const override { return writable_; }

  Result<std::unique_ptr<Object>> open(std::string_view key) const override {
    PENSTOCK_TRY(check_key(key));
    std::string name(key);
    PENSTOCK_ASSIGN(FileDescriptor fd, open_for_reading(name));
    if (!fd) return std::unique_ptr<Object>();
    PENSTOCK_ASSIGN(const struct stat info, look_at(fd.get(), {root_->name, name}));
    return std::unique_ptr<Object>(std::make_unique<FileObject>(root_, std::move(name), std::move(fd), info));
  }

  // Four system calls and no allocation beyond the key: chunks are many and small.
  Result<bool> get(std::string_view key, Bytes& out) const override {
    PENSTOCK_TRY(check_key(key));
    const std::string name(key);
    PENSTOCK_ASSIGN(const FileDescriptor fd, open_for_reading(name));
    if (!fd) return false;
    PENSTOCK_ASSIGN(const struct stat info, look_at(fd.get(), {root_->name, name}));
    PENSTOCK_TRY_IN(out.resize_discard(size_of(info)), path_of(name));
    PENSTOCK_TRY(read_at(fd.get(), 0, out.span(), {root_->name, name}));
    return true;
  }

  Result<bool> exists(std::string_view key) const override {
    PENSTOCK_TRY(check_key(key));
    struct stat info{};
    if (::fstatat(root_->fd.get(), std::string(key).c_str(), &info, 0) == 0) return !S_ISDIR(info.st_mode);
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return errno_error(errno, path_of(key));
  }

  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override {
    PENSTOCK_TRY(check_prefix(prefix));
    return list_directory(root(), std::string(prefix));
  }
  Result<std::vector<std::string>> list(std::string_view prefix) const override {
    PENSTOCK_TRY(check_prefix(prefix));
    return list_tree(root(), std::string(prefix));
  }

  StoreTraits traits(std::string_view) const override {
    StoreTraits traits;
    traits.reason = "files: read where they lie, in the thread that asks; a gap costs more to read than to skip";
    return traits;
  }

  Status set(std::string_view key, ByteView value) override { return set_parts(key, {&value, 1}); }

  Status set_parts(std::string_view key, std::span<const ByteView> parts) override {
    PENSTOCK_TRY(check_change(key));
    const std::string name(key);
    PENSTOCK_TRY(with_parents(name, [&]() -> Result<int> { return write_and_rename(name, parts); }));
    return {};
  }

  Result<std::unique_ptr<ObjectWriter>> writer(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    std::string name(key);
    Temporary made;
    PENSTOCK_TRY(with_parents(name, [&]() -> Result<int> {
      made = make_temporary(name);
      return made.fd ? 0 : errno;
    }));
    return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(*this, std::move(name), std::move(made)));
  }

  Status erase(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    if (::unlinkat(root_->fd.get(), std::string(key).c_str(), 0) == 0) return {};
    // No object there: absent, or a directory (EPERM is the answer of other systems than Linux).
    if (errno == ENOENT || errno == ENOTDIR || errno == EISDIR) return {};
    return errno_error(errno, path_of(key));
  }

  Status erase_prefix(std::string_view prefix) override {
    if (!writable_) return read_only_error(url());
    PENSTOCK_TRY(check_prefix(prefix));
    return remove_tree(root(), std::string(prefix));
  }

  // By the directory that holds the file: the same for a store of the whole hierarchy and of a part of it.
  Result<std::unique_ptr<ObjectLock>> lock(std::string_view key, LockUse use,
                                           const std::function<Status()>& check) const override {
    PENSTOCK_TRY(check_change(key));
    const std::string name(key);
    const std::size_t slash = name.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : name.substr(0, slash);
    constexpr int kAttempts = 8;
    FileDescriptor directory;
    for (int attempt = 0; !directory && attempt < kAttempts; ++attempt) {
      directory = open_at(root_->fd.get(), parent.c_str(), O_RDONLY | O_DIRECTORY);
      if (directory || errno != ENOENT) break;
      PENSTOCK_TRY(make_parents(name));
      errno = ENOENT;
    }
    if (!directory && errno == EACCES)  // may be written to, not listed
      return lock_in_process(identity() + "/" + name, check);
    if (!directory) return errno_error(errno, path_of(parent));
    return lock_file(std::move(directory), {root_->name, name}, name.substr(slash + 1), use, check);
  }

  // flush() stays empty: each object is complete when set() returns, for every process of the machine.  What it is not
  // is on the disk: like zarr-python and zarrs we leave that to the system's write-back, because one fsync a chunk
  // costs far more than the chunk, and a syncfs would wait for the data of everybody on the file system.

 private:
  Root root() const { return {root_->fd.get(), root_->name}; }
  std::string path_of(std::string_view key) const { return join_key(root_->name, key); }

  /// Invalid when the key is absent.
  Result<FileDescriptor> open_for_reading(const std::string& key) const {
    // O_NONBLOCK: a pipe in the place of a chunk must not hang the reader; regular files do not know it.
    FileDescriptor fd = open_at(root_->fd.get(), key.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd && errno != ENOENT && errno != ENOTDIR) return errno_error(errno, path_of(key));
    return fd;
  }

  Status check_change(std::string_view key) const {
    if (!writable_) return read_only_error(url());
    PENSTOCK_TRY(check_key(key));
    if (is_temporary_name(key.substr(key.rfind('/') + 1)))
      return Error(ErrorCode::invalid_argument, "key " + quoted(key) + " is kept for files that are being written");
    return {};
  }

  /// 0, or ENOENT when the parent directory is missing, or EISDIR.  Leaves no temporary file behind.
  Result<int> write_and_rename(const std::string& key, std::span<const ByteView> parts) const {
    Temporary made = make_temporary(key);
    if (!made.fd) return errno;

    Status status = write_at(made.fd.get(), 0, parts, {root_->name, key});
    const int why = status ? close_and_rename(made, key) : 0;
    if (status && why == 0) return 0;
    remove(made);
    if (!status) return std::move(status).error();
    return why;
  }

  /// Where a write goes before it gets the key's name.
  Temporary make_temporary(const std::string& key) const {
    const std::string parent = key.substr(0, key.rfind('/') + 1);  // with its '/'; npos + 1 = 0: none
    Temporary made;
    do {  // EEXIST: a process of another machine or container with our number, or a leftover of an earlier one
      made.path = parent + temporary_name();
      made.fd = open_at(root_->fd.get(), made.path.c_str(), O_WRONLY | O_CREAT | O_EXCL);
    } while (!made.fd && errno == EEXIST);
    return made;
  }
  /// 0 or an errno.
  int close_and_rename(Temporary& made, const std::string& key) const {
    const int why = made.fd.close();  // network file systems tell of a full disk here
    if (why != 0) return why;
    return ::renameat(root_->fd.get(), made.path.c_str(), root_->fd.get(), key.c_str()) == 0 ? 0 : errno;
  }
  void remove(const Temporary& made) const { ::unlinkat(root_->fd.get(), made.path.c_str(), 0); }

  /// Tries `make`, which gives 0 or an errno, until the directory of `key` stands: one that erase_prefix (ours or
  /// another process') takes away under a write is made again.
  template <class Make>
  Status with_parents(const std::string& key, const Make& make) const {
    constexpr int kAttempts = 8;
    int why = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      PENSTOCK_ASSIGN(why, make());
      if (why == 0) return {};
      if (why != ENOENT) break;
      PENSTOCK_TRY(make_parents(key));
    }
    return errno_error(why, path_of(key));
  }

  /// A temporary file, renamed when it is whole.
  class Writer final : public CheckedWriter {
   public:
    Writer(FileStore& store, std::string key, Temporary made)
        : CheckedWriter(store.path_of(key)), store_(store), key_(std::move(key)), made_(std::move(made)) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer() override {
      if (!renamed_) store_.remove(made_);
    }

   protected:
    Status put(std::uint64_t offset_bytes, ByteView bytes) override {
      return penstock::write_at(made_.fd.get(), offset_bytes, {&bytes, 1}, where_);
    }
    Status finish(const WriteCondition& condition, const CancelToken& cancel) override {
      std::unique_ptr<ObjectLock> held;
      if (condition.kind != WriteCondition::Kind::any) {
        PENSTOCK_ASSIGN(held, store_.lock(key_, LockUse::change, not_cancelled(cancel)));
        PENSTOCK_TRY(check_condition(store_, key_, condition));
      }
      const int why = store_.close_and_rename(made_, key_);
      if (why != 0) return errno_error(why, where_);
      renamed_ = true;
      return {};
    }

   private:
    FileStore& store_;
    const std::string key_;
    Temporary made_;
    bool renamed_ = false;
  };

  Status make_parents(const std::string& key) const {
    for (std::size_t slash = key.find('/'); slash != std::string::npos; slash = key.find('/', slash + 1)) {
      const std::string parent = key.substr(0, slash);
      if (::mkdirat(root_->fd.get(), parent.c_str(), 0777) != 0 && errno != EEXIST && errno != ENOENT)
        return errno_error(errno, path_of(parent));
    }
    return {};
  }

  std::shared_ptr<const Directory> root_;
  bool writable_;
  bool locks_;
};

}  // namespace

Result<std::shared_ptr<Store>> open_file_store(const std::string& path, StoreMode mode) {
  if (mode == StoreMode::create) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return errno_error(error.value(), path);
  }
  auto root = std::make_shared<Directory>();
  root->name = path;
  root->fd = open_at(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY);
  if (!root->fd) return errno_error(errno, path);
  const bool writable = mode != StoreMode::read;
  bool locks = true;
  if (writable) {
    const FileDescriptor directory = open_at(root->fd.get(), ".", O_RDONLY | O_DIRECTORY);
    locks = directory && has_directory_locks(directory.get());
  }
  return std::shared_ptr<Store>(std::make_shared<FileStore>(std::move(root), writable, locks));
}

}  // namespace penstock

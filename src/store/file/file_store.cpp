#include "store/file/file_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "store/blocking_store.hpp"
#include "store/condition.hpp"
#include "store/file/below.hpp"
#include "store/file/directory_lock.hpp"
#include "store/file/temporary.hpp"
#include "store/file/to_disk.hpp"
#include "store/file/walk.hpp"
#include "store/key.hpp"
#include "store/locks.hpp"
#include "store/object_writer.hpp"
#include "store/posix.hpp"

namespace penstock {
namespace {

/// The directory, held open: keys are found below it even when it is renamed, and no key can leave it (check_key
/// refuses "..") but by a symbolic link, with Links::follow.
struct Directory {
  FileDescriptor fd;
  std::string name;
  Links links = Links::follow;
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

/// How long a directory that others take away again and again is made anew: a number of attempts would be over in no
/// time beside one who is quick.
class Patience {
 public:
  /// Whether to try (once more).
  bool lasts() {
    using namespace std::chrono_literals;
    if (++attempts_ <= 8) return true;
    if (std::chrono::steady_clock::now() - begun_ > 2s) return false;
    std::this_thread::sleep_for(100us);
    return true;
  }

 private:
  int attempts_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

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
    // Here and now, not by File: to hand a read to its threads costs some 12 us, more than a small chunk takes (16 KiB
    // in the page cache: 1 us), and of those who ask there are as many as cores already.
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

class FileStore final : public BlockingStore {
 public:
  FileStore(std::shared_ptr<const Directory> root, bool writable, bool locks, Durable durable)
      : root_(std::move(root)), writable_(writable), locks_(locks), disk_(durable) {}
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

  Result<bool> exists(std::string_view key) const override {
    PENSTOCK_TRY(check_key(key));
    if (is_temporary(key)) return false;
    const std::string name(key);
    struct stat info{};
    FileDescriptor fd;
    if (root_->links == Links::inside) fd = open_below(root(), name.c_str(), O_PATH);
    const bool found = root_->links == Links::inside ? fd && ::fstat(fd.get(), &info) == 0
                                                     : ::fstatat(root_->fd.get(), name.c_str(), &info, 0) == 0;
    if (found) return !S_ISDIR(info.st_mode);
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return error_below(errno, root(), key);
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
    const bool document = is_document(key);
    if (document) PENSTOCK_TRY(disk_.before_document(root()));
    cleared_.before_writing(root(), name);
    PENSTOCK_TRY(
        with_parents(name, [&]() -> Result<int> { return write_and_rename(name, parts, disk_.forces(document)); }));
    return disk_.changed(root(), key, document);
  }

  Result<std::unique_ptr<ObjectWriter>> writer(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    std::string name(key);
    cleared_.before_writing(root(), name);
    Place place;
    Temporary made;
    PENSTOCK_TRY(with_parents(name, [&]() -> Result<int> {
      place = place_of(root(), name);
      if (place.fd < 0) return errno;
      made = open_temporary(place);
      struct stat info{};
      if (!made.fd || ::fstat(made.fd.get(), &info) != 0) return errno;
      return info.st_nlink > 0 ? 0 : ENOENT;  // taken for left behind before it was locked
    }));
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<Writer>(*this, std::move(name), std::move(place), std::move(made)));
  }

  Status erase(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    const bool document = is_document(key);
    const Place place = place_of(root(), key);
    if (place.fd >= 0 && ::unlinkat(place.fd, place.path().c_str(), 0) == 0)
      return disk_.changed(root(), key, document);
    // No object there: absent, or a directory (EPERM is the answer of other systems than Linux).
    if (errno == ENOENT || errno == ENOTDIR || errno == EISDIR) return {};
    return error_below(errno, root(), key);
  }

  // The node's own metadata first: whatever stops this in between, what is left does not pass for the whole.
  Status erase_prefix(std::string_view prefix) override {
    if (!writable_) return read_only_error(url());
    PENSTOCK_TRY(check_prefix(prefix));
    for (const std::string_view document : node_documents()) PENSTOCK_TRY(erase(join_key(prefix, document)));
    PENSTOCK_TRY(remove_tree(root(), std::string(prefix)));
    if (disk_.durable() == Durable::none) return {};
    return disk_.changed(root(), join_key(prefix, prefix.empty() ? "." : ""), true);
  }

  Status flush() override { return disk_.force(root(), true); }
  Status sync() override { return disk_.force(root(), false); }

  Result<std::vector<std::string>> remove_litter(std::string_view prefix) override {
    if (!writable_) return read_only_error(url());
    PENSTOCK_TRY(check_prefix(prefix));
    return remove_left_behind_below(root(), std::string(prefix));
  }

  StoreOptions options() const override { return {disk_.durable(), root_->links, {}}; }

  // By the directory that holds the file: the same for a store of the whole hierarchy and of a part of it.
  Result<std::unique_ptr<ObjectLock>> lock(std::string_view key, LockUse use,
                                           const std::function<Status()>& check) const override {
    PENSTOCK_TRY(check_change(key));
    const std::string name(key);
    const std::size_t slash = name.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : name.substr(0, slash);
    for (Patience patience; patience.lasts();) {
      FileDescriptor directory = open_below(root(), parent.c_str(), O_RDONLY | O_DIRECTORY);
      if (!directory && errno == EACCES)  // may be written to, not listed
        return lock_in_process(identity() + "/" + name, check);
      if (!directory && errno != ENOENT) return error_below(errno, root(), parent);
      if (!directory) {
        PENSTOCK_TRY(make_parents(name));
        continue;
      }
      const std::optional<Inode> waited_for = inode_of(directory.get());
      PENSTOCK_ASSIGN(auto held,
                      lock_file(std::move(directory), {root_->name, name}, name.substr(slash + 1), use, check));
      // While this waited, erase_prefix may have taken the directory away and a write made another: a lock of what no
      // name leads to excludes nobody.
      const FileDescriptor now = open_below(root(), parent.c_str(), O_RDONLY | O_DIRECTORY);
      if (now && inode_of(now.get()) == waited_for) return held;
    }
    return error_below(ENOENT, root(), parent);
  }

 private:
  Root root() const { return {root_->fd.get(), root_->name, root_->links}; }
  std::string path_of(std::string_view key) const { return join_key(root_->name, key); }

  using Inode = std::pair<dev_t, ino_t>;
  static std::optional<Inode> inode_of(int fd) {
    struct stat info{};
    if (::fstat(fd, &info) != 0) return std::nullopt;
    return Inode{info.st_dev, info.st_ino};
  }

  static bool is_temporary(std::string_view key) { return is_temporary_name(key.substr(key.rfind('/') + 1)); }

  /// Invalid when the key is absent.
  Result<FileDescriptor> open_for_reading(const std::string& key) const {
    if (is_temporary(key)) return FileDescriptor();
    // O_NONBLOCK: a pipe in the place of a chunk must not hang the reader; regular files do not know it.
    FileDescriptor fd = open_below(root(), key.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd && errno != ENOENT && errno != ENOTDIR) return error_below(errno, root(), key);
    return fd;
  }

  Status check_change(std::string_view key) const {
    if (!writable_) return read_only_error(url());
    PENSTOCK_TRY(check_key(key));
    if (is_temporary(key))
      return Error(ErrorCode::invalid_argument, "key " + quoted_key(key) + " is kept for files that are being written");
    return {};
  }

  /// 0, or ENOENT when the parent directory is missing, or EISDIR.  Leaves no temporary file behind.
  Result<int> write_and_rename(const std::string& key, std::span<const ByteView> parts, bool force) const {
    const Place place = place_of(root(), key);
    if (place.fd < 0) return errno;
    Temporary made = open_temporary(place);
    if (!made.fd) return errno;
    Status status = write_at(made.fd.get(), 0, parts, {root_->name, key});
    int why = status && force && ::fsync(made.fd.get()) != 0 ? errno : 0;
    const int closed = made.fd.close();  // network file systems tell of a full disk here
    if (why == 0) why = closed;
    if (!status) return std::move(status).error();
    return why != 0 ? why : made.rename_to(place);
  }

  /// Tries `make`, which gives 0 or an errno, until the directory of `key` stands: one that erase_prefix (ours or
  /// another process') takes away under a write is made again.
  template <class Make>
  Status with_parents(const std::string& key, const Make& make) const {
    int why = 0;
    for (Patience patience; patience.lasts();) {
      PENSTOCK_ASSIGN(why, make());
      if (why == 0) return {};
      if (why != ENOENT) break;
      PENSTOCK_TRY(make_parents(key));
    }
    return error_below(why, root(), key);
  }

  /// A temporary file, renamed when it is whole, and locked until then.
  class Writer final : public CheckedWriter {
   public:
    Writer(FileStore& store, std::string key, Place place, Temporary made)
        : CheckedWriter(store.path_of(key)),
          store_(store),
          key_(std::move(key)),
          place_(std::move(place)),
          made_(std::move(made)) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

   protected:
    Status put(std::uint64_t offset_bytes, ByteView bytes) override {
      return penstock::write_at(made_.fd.get(), offset_bytes, {&bytes, 1}, where_);
    }
    Status finish(const WriteCondition& condition, const CancelToken& cancel) override {
      const bool document = is_document(key_);
      if (document) PENSTOCK_TRY(store_.disk_.before_document(store_.root()));
      if (store_.disk_.forces(document) && uninterrupted([&] { return ::fsync(made_.fd.get()); }) != 0)
        return errno_error(errno, where_);
      std::unique_ptr<ObjectLock> held;
      if (condition.kind != WriteCondition::Kind::any) {
        PENSTOCK_ASSIGN(held, store_.lock(key_, LockUse::change, not_cancelled(cancel)));
        PENSTOCK_TRY(check_condition(store_, key_, condition));
      }
      // Network file systems tell of a full disk when a descriptor is closed; the lock goes with the last one.
      FileDescriptor again(::fcntl(made_.fd.get(), F_DUPFD_CLOEXEC, 0));
      if (!again) return errno_error(errno, where_);
      if (const int why = again.close(); why != 0) return errno_error(why, where_);
      if (const int why = made_.rename_to(place_); why != 0) return error_below(why, store_.root(), key_);
      made_.fd = FileDescriptor();
      return store_.disk_.changed(store_.root(), key_, document);
    }

   private:
    FileStore& store_;
    const std::string key_;
    const Place place_;
    Temporary made_;  // behind its place, which it needs to go
  };

  Status make_parents(const std::string& key) const {
    for (std::size_t slash = key.find('/'); slash != std::string::npos; slash = key.find('/', slash + 1)) {
      const std::string parent = key.substr(0, slash);
      const Place place = place_of(root(), parent);
      if (place.fd < 0 && errno == ENOENT) return {};  // taken away again meanwhile: whoever needs it tries again
      if (place.fd < 0) return error_below(errno, root(), parent);
      int why = 0;
      const bool made = disk_.made_directory(parent, [&] {
        if (::mkdirat(place.fd, place.path().c_str(), 0777) == 0) return true;
        why = errno;
        return false;
      });
      if (made) cleared_.made(parent);
      if (why != 0 && why != EEXIST && why != ENOENT) return error_below(why, root(), parent);
    }
    return {};
  }

  std::shared_ptr<const Directory> root_;
  bool writable_;
  bool locks_;
  mutable ToDisk disk_;      // of lock(), which may make directories
  mutable Cleared cleared_;  // as above
};

}  // namespace

Result<std::shared_ptr<Store>> open_file_store(const std::string& path, StoreMode mode, Durable durable, Links links) {
  if (mode == StoreMode::create) PENSTOCK_TRY(make_directories(path, durable));
  auto root = std::make_shared<Directory>();
  root->name = path;
  root->links = links;
  root->fd = open_at(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY);
  if (!root->fd) return errno_error(errno, path);
  PENSTOCK_TRY(check_links({root->fd.get(), root->name, links}));
  const bool writable = mode != StoreMode::read;
  bool locks = true;
  if (writable) {
    const FileDescriptor directory = open_at(root->fd.get(), ".", O_RDONLY | O_DIRECTORY);
    locks = directory && has_directory_locks(directory.get());
  }
  return std::shared_ptr<Store>(std::make_shared<FileStore>(std::move(root), writable, locks, durable));
}

}  // namespace penstock

#include "store/file/walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>

#include "store/key.hpp"
#include "store/posix.hpp"

namespace penstock {
namespace {

constexpr std::string_view kTemporaryBegin = ".penstock-";
constexpr std::string_view kTemporaryEnd = ".tmp";
// Links between directories can name exponentially many paths; a store made by a person has a handful.
constexpr std::size_t kMaxDirectoryLinks = 10'000;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

const char* or_dot(const std::string& path) { return path.empty() ? "." : path.c_str(); }
bool is_absent(int errno_value) { return errno_value == ENOENT || errno_value == ENOTDIR; }

/// nullptr: absent, or not a directory.
Result<Directory> open_directory(Root root, const std::string& path, int extra_flags) {
  FileDescriptor fd = open_below(root, or_dot(path), O_RDONLY | O_DIRECTORY | extra_flags);
  // O_NOFOLLOW on a link: ENOTDIR together with O_DIRECTORY, ELOOP without.
  if (!fd && is_absent(errno)) return Directory();
  if (!fd) return error_below(errno, root, path);
  Directory directory(::fdopendir(fd.get()));
  if (directory == nullptr) return errno_error(errno, join_key(root.name, path));
  (void)fd.release();
  return directory;
}

/// The next entry but "." and ".."; nullptr at the end.
Result<const dirent*> next_entry(DIR* directory, FileName file) {
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory);
    if (entry == nullptr && errno != 0) return errno_error(errno, file);
    if (entry == nullptr) return nullptr;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry;
  }
}

struct Listed {
  std::string name;
  bool is_directory = false;
  bool is_link = false;
};

/// nullopt: gone meanwhile, or a link that leads nowhere.
std::optional<Listed> look_at(DIR* directory, Root root, const std::string& path, const dirent& entry) {
  Listed found{entry.d_name, entry.d_type == DT_DIR, false};
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return found;
  struct stat info{};
  found.is_link = true;  // for DT_UNKNOWN: perhaps; costs a look at its identity only
  if (root.links == Links::follow) {
    if (::fstatat(::dirfd(directory), entry.d_name, &info, 0) != 0) return std::nullopt;
  } else {
    const FileDescriptor fd = open_below(root, join_key(path, entry.d_name).c_str(), O_PATH);
    const bool leads_out = !fd && errno == EXDEV;
    if (leads_out) info.st_mode = S_IFDIR;
    if (!leads_out && (!fd || ::fstat(fd.get(), &info) != 0)) return std::nullopt;
  }
  found.is_directory = S_ISDIR(info.st_mode);
  return found;
}

Result<std::vector<Listed>> entries_of(DIR* directory, Root root, const std::string& path) {
  std::vector<Listed> all;
  for (;;) {
    PENSTOCK_ASSIGN(const dirent* entry, next_entry(directory, {root.name, path}));
    if (entry == nullptr) return all;
    if (is_temporary_name(entry->d_name)) continue;
    if (auto found = look_at(directory, root, path, *entry)) all.push_back(*std::move(found));
  }
}

/// A directory still to be listed, and where the one that it stands in is among `Ancestors`.
struct Pending {
  std::string path;
  bool by_link = false;
  std::size_t parent = 0;
};
struct Ancestor {
  dev_t device = 0;
  ino_t inode = 0;
  std::size_t parent = 0;  ///< the first is its own
};
using Ancestors = std::vector<Ancestor>;

bool stands_in(const Ancestors& all, std::size_t at, const struct stat& info) {
  for (;; at = all[at].parent) {
    if (all[at].device == info.st_dev && all[at].inode == info.st_ino) return true;
    if (all[at].parent == at) return false;
  }
}

}  // namespace

bool is_temporary_name(std::string_view name) {
  return name.starts_with(kTemporaryBegin) && name.ends_with(kTemporaryEnd);
}

std::string temporary_name() {
  static std::atomic<std::uint64_t> counter{0};
  return std::string(kTemporaryBegin) + std::to_string(::getpid()) + "-" +
         std::to_string(counter.fetch_add(1, std::memory_order_relaxed)) + std::string(kTemporaryEnd);
}

Result<std::vector<std::string>> temporary_files(int directory, FileName name) {
  FileDescriptor fd = open_at(directory, ".", O_RDONLY | O_DIRECTORY);
  const Directory open(fd ? ::fdopendir(fd.get()) : nullptr);
  if (open == nullptr) return errno_error(errno, name);
  (void)fd.release();
  std::vector<std::string> names;
  for (;;) {
    PENSTOCK_ASSIGN(const dirent* entry, next_entry(open.get(), name));
    if (entry == nullptr) return names;
    if (is_temporary_name(entry->d_name)) names.emplace_back(entry->d_name);
  }
}

Result<std::vector<StoreEntry>> list_directory(Root root, const std::string& path) {
  PENSTOCK_ASSIGN(const Directory directory, open_directory(root, path, 0));
  std::vector<StoreEntry> entries;
  if (directory == nullptr) return entries;
  PENSTOCK_ASSIGN(std::vector<Listed> all, entries_of(directory.get(), root, path));
  entries.reserve(all.size());
  for (Listed& one : all) entries.push_back({std::move(one.name), one.is_directory});
  std::sort(entries.begin(), entries.end(), [](const StoreEntry& a, const StoreEntry& b) { return a.name < b.name; });
  return entries;
}

Result<std::vector<std::string>> list_tree(Root root, const std::string& path) {
  std::vector<std::string> files;
  Ancestors ancestors;
  std::size_t links = 0;
  std::vector<Pending> pending{{path, false, 0}};
  while (!pending.empty()) {
    const Pending at = std::move(pending.back());
    pending.pop_back();
    PENSTOCK_ASSIGN(const Directory directory, open_directory(root, at.path, 0));
    if (directory == nullptr) continue;
    struct stat info{};
    if (::fstat(::dirfd(directory.get()), &info) != 0) return errno_error(errno, join_key(root.name, at.path));
    if (at.by_link && stands_in(ancestors, at.parent, info)) continue;
    if (at.by_link && ++links > kMaxDirectoryLinks)
      return Error(ErrorCode::io_error, join_key(root.name, at.path) + ": more than " +
                                            std::to_string(kMaxDirectoryLinks) + " links to directories");
    PENSTOCK_ASSIGN(const std::vector<Listed> all, entries_of(directory.get(), root, at.path));
    const std::size_t here = ancestors.size();
    ancestors.push_back({info.st_dev, info.st_ino, here == 0 ? 0 : at.parent});
    for (const Listed& one : all) {
      if (one.is_directory)
        pending.push_back({join_key(at.path, one.name), one.is_link, here});
      else
        files.push_back(join_key(at.path, one.name));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

// A directory that others fill as fast as we empty it is given up after so many rounds.
constexpr int kMaxRounds = 100;

struct Doomed {
  std::string path;
  int rounds = 0;
};

/// Unlinks every file of the directory; the names of its directories go to `pending`.
Status unlink_files(DIR* directory, Root root, const std::string& path, std::vector<Doomed>& pending) {
  for (;;) {
    PENSTOCK_ASSIGN(const dirent* entry, next_entry(directory, {root.name, path}));
    if (entry == nullptr) return {};
    if (::unlinkat(::dirfd(directory), entry->d_name, 0) == 0 || errno == ENOENT) continue;
    // POSIX says EPERM for a directory, Linux EISDIR.
    if (errno != EISDIR && errno != EPERM)
      return errno_error(errno, join_key(join_key(root.name, path), entry->d_name));
    const int why = errno;
    struct stat info{};
    if (::fstatat(::dirfd(directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(info.st_mode))
      return errno_error(why, join_key(join_key(root.name, path), entry->d_name));
    pending.push_back({join_key(path, entry->d_name), 0});
  }
}

/// False: a directory (flags 0), or one that is not empty.
Result<bool> unlink_one(Root root, const std::string& path, int flags) {
  const Place place = place_of(root, path);
  if (place.fd >= 0 && ::unlinkat(place.fd, place.path().c_str(), flags) == 0) return true;
  if (is_absent(errno)) return true;
  const bool stays = flags == 0 ? errno == EISDIR || errno == EPERM : errno == ENOTEMPTY || errno == EEXIST;
  if (!stays || place.fd < 0) return error_below(errno, root, path);
  return false;
}

}  // namespace

Status remove_tree(Root root, const std::string& path) {
  if (!path.empty()) {
    PENSTOCK_ASSIGN(const bool done, unlink_one(root, path, 0));
    if (done) return {};
  }
  std::vector<Doomed> pending{{path, 0}};
  while (!pending.empty()) {
    const std::size_t before = pending.size();
    const std::string at = pending.back().path;
    if (++pending.back().rounds > kMaxRounds) return errno_error(ENOTEMPTY, join_key(root.name, at));
    {
      PENSTOCK_ASSIGN(const Directory directory, open_directory(root, at, O_NOFOLLOW));
      if (directory != nullptr) PENSTOCK_TRY(unlink_files(directory.get(), root, at, pending));
    }
    if (pending.size() > before) continue;  // its directories first
    bool done = at.empty();
    if (!done) {
      PENSTOCK_ASSIGN(done, unlink_one(root, at, AT_REMOVEDIR));
    }
    if (done) pending.pop_back();
  }
  return {};
}

}  // namespace penstock

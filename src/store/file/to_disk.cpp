#include "store/file/to_disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

namespace penstock {
namespace {

constexpr std::size_t kMaxDirectories = 10'000;  // that wait to be forced

/// File systems that cannot force a directory (EINVAL) keep its entries by other means, or not at all.
bool forced(const FileDescriptor& directory) { return ::fsync(directory.get()) == 0 || errno == EINVAL; }

}  // namespace

std::span<const std::string_view> node_documents() {
  static constexpr std::string_view names[] = {"zarr.json", ".zarray", ".zgroup", ".zmetadata", ".zattrs"};
  return names;
}

bool is_document(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('/') + 1);  // npos + 1 = 0
  return std::ranges::find(node_documents(), name) != node_documents().end() ||
         (name.starts_with(".penstock-") && name.ends_with(".json"));
}

Status ToDisk::changed(Root root, std::string_view key, bool document) {
  if (durable_ == Durable::none) return {};
  if (!forces(document)) {
    if (!objects_.load(std::memory_order_relaxed)) objects_ = true;
    return {};
  }
  bool full = false;
  {
    const std::scoped_lock lock(mutex_);
    directories_.emplace(directory_of(key));
    full = directories_.size() > kMaxDirectories;
  }
  return document || full ? force(root, false) : Status();
}

Status ToDisk::force(Root root, bool objects) {
  if (durable_ == Durable::none) return {};
  const std::scoped_lock forcing(forcing_);
  if (!objects || durable_ == Durable::all || !objects_.exchange(false)) return force_directories(root);
  // One call for all of them, however many: it waits for what others have written to this file system, too.
  const FileDescriptor directory = open_below(root, ".", O_RDONLY | O_DIRECTORY);
  if (directory && ::syncfs(directory.get()) == 0) return force_directories(root);
  const int why = errno;
  objects_ = true;
  return error_below(why, root, "");
}

Status ToDisk::force_directories(Root root) {
  std::set<std::string> directories;
  {
    const std::scoped_lock lock(mutex_);
    directories.swap(directories_);
  }
  for (auto it = directories.begin(); it != directories.end(); ++it) {
    const FileDescriptor directory = open_below(root, it->empty() ? "." : it->c_str(), O_RDONLY | O_DIRECTORY);
    if (directory ? forced(directory) : errno == ENOENT || errno == ENOTDIR) continue;  // absent: erased meanwhile
    const int why = errno;
    const std::scoped_lock lock(mutex_);
    directories_.insert(it, directories.end());  // the next call tries again
    return error_below(why, root, *it);
  }
  return {};
}

Status force_directory(const std::string& path) {
  const FileDescriptor directory = open_at(AT_FDCWD, path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY);
  if (directory && forced(directory)) return {};
  return errno_error(errno, path);
}

Status make_directories(const std::string& path, Durable durable) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> absent;
  if (durable != Durable::none)
    for (fs::path at = fs::absolute(path, error).lexically_normal();
         !at.empty() && at != at.parent_path() && !fs::exists(at, error); at = at.parent_path())
      absent.push_back(at);
  fs::create_directories(path, error);
  if (error) return errno_error(error.value(), path);
  for (const fs::path& made : absent) PENSTOCK_TRY(force_directory(made.parent_path().string()));
  return {};
}

}  // namespace penstock

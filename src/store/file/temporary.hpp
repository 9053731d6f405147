// Files that are being written: their names, and what killed writers have left of them.
#pragma once
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/file/below.hpp"

namespace penstock {

/// A temporary file, new, empty, and locked (flock) until its descriptor is closed: that says that its writer lives,
/// also to processes of other containers.  It goes with this object, also where a failing allocation ends the write,
/// unless it has got its name.  The Place outlives it.
class Temporary {
 public:
  Temporary() = default;
  Temporary(Temporary&& other) noexcept { *this = std::move(other); }
  Temporary& operator=(Temporary&& other) noexcept;
  ~Temporary();
  /// 0: the file has the name of the place, and is no temporary one any more; else errno.
  [[nodiscard]] int rename_to(const Place& place);

  FileDescriptor fd;  ///< invalid: errno says why

 private:
  friend Temporary open_temporary(const Place& place);
  int directory_ = -1;
  std::string path_;  // seen from directory_; "": nothing is to be removed
};
Temporary open_temporary(const Place& place);

/// Removes the temporary files in an open directory whose writers are gone; appends their names to `removed`, if given.
/// One whose writer closed it to rename it this moment may go too: a writer that misses its file writes it again.
/// Where the file system has no locks, a file counts as left behind when it is a day old.
Status remove_left_behind(int directory, FileName name, std::vector<std::string>* removed);

/// The same for a directory and all below it; links are not followed.  Gives paths below the root.
Result<std::vector<std::string>> remove_left_behind_below(Root root, const std::string& path);

/// The directories that a store has cleared: each is looked into once, before the first file is written there.
class Cleared {
 public:
  /// Clears the directory of a file unless that was done.  What cannot be cleared is left: writing goes on.
  void before_writing(Root root, std::string_view key);
  /// A directory that this store has just made holds nothing.
  void made(std::string_view directory);

 private:
  bool is_first(std::string_view directory);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::mutex mutex_;
  std::unordered_set<std::string, Hash, std::equal_to<>> directories_;
};

}  // namespace penstock

// What a store has written and not yet forced to the disk.
#pragma once
#include <atomic>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "store/file/below.hpp"
#include "store/key.hpp"

namespace penstock {

/// Names of the documents that make a node.
std::span<const std::string_view> node_documents();
/// Whether a key is one of those, or says that a copy is under way.
bool is_document(std::string_view key);

/// Keeps to a store's Durable.  A file's bytes are forced by its writer, in the writer's thread; a directory is forced
/// once for all the files that were written there.
class ToDisk {
 public:
  explicit ToDisk(Durable durable) : durable_(durable) {}
  [[nodiscard]] Durable durable() const { return durable_; }
  /// Whether the bytes of this object are forced before it gets its name.
  [[nodiscard]] bool forces(bool document) const {
    return durable_ == Durable::all || (durable_ == Durable::metadata && document);
  }
  /// Before a document is written or erased: what was written until now is on the disk.
  Status before_document(Root root) { return force(root, true); }
  /// After an object came or went.
  Status changed(Root root, std::string_view key, bool document);
  /// Runs `make`, which makes the directory `path` and says whether it was absent.
  template <class Make>
  bool made_directory(std::string_view path, const Make& make) {
    const std::scoped_lock lock(mutex_);  // nobody sees the new directory and not that its parent has to be forced
    const bool made = make();
    if (made && durable_ != Durable::none) directories_.emplace(directory_of(path));
    return made;
  }
  /// Forces the directories.  `objects`: with Durable::metadata the objects too.
  Status force(Root root, bool objects);

 private:
  Status force_directories(Root root);

  const Durable durable_;
  std::mutex forcing_;                 // once taken, all that was written before is forced; taken before mutex_
  std::mutex mutex_;                   // guards directories_
  std::set<std::string> directories_;  // with entries that are not forced
  std::atomic<bool> objects_{false};   // Durable::metadata: there are objects that are not forced
};

/// Makes a directory with its parents, and forces those that were absent unless `durable` is none.
Status make_directories(const std::string& path, Durable durable);
/// Forces the entries of a directory.
Status force_directory(const std::string& path);

}  // namespace penstock

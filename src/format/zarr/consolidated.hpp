// Keeping consolidated metadata true while nodes change.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/zarr/zarr.hpp"

namespace penstock {

/// Locks the documents of a node: whoever reads them, changes them and writes them holds it.  A thread may hold the
/// locks of several nodes if it took those of the deeper ones first.
/// `cancel` ends the wait for it.
Result<std::unique_ptr<ObjectLock>> lock_metadata(const Store& store, std::string_view path,
                                                  const CancelToken& cancel = CancelToken::never());

/// The consolidated metadata of a node and of all groups above it, taken away while something changes there: a writer
/// that is killed half way leaves none, never one that says something else than what stands.
class Consolidated {
 public:
  /// Takes them away, also from the directories above the root of a store of files.
  static Result<Consolidated> drop(Store& store, std::string_view path,
                                   const CancelToken& cancel = CancelToken::never());
  /// Takes away those of the directories above one.
  Status drop_above(const std::string& directory, const StoreOptions& options, const CancelToken& cancel);
  /// Makes those anew that were there.  A group below which something cannot be read stays without.
  Status renew(const CancelToken& cancel = CancelToken::never());
  /// Both, with `write` between them, the groups above locked: what others write beside it is in the new ones, by who
  /// comes last.
  static Status around(Store& store, std::string_view path, const std::function<Status()>& write,
                       const CancelToken& cancel);

 private:
  struct Group {
    std::shared_ptr<Store> owner;  ///< of a directory above the store; else empty
    Store* store = nullptr;
    std::string path;
  };
  static Result<std::vector<Group>> groups_from(Store& store, std::string_view path);
  static Result<std::vector<Group>> groups_above(const std::string& directory, const StoreOptions& options);
  Status drop_one(Group group, const CancelToken& cancel);
  static Status renew(const Group& group);
  std::vector<Group> groups_;  // deepest first
};

/// A group less its consolidated metadata.
Result<GroupInfo> without_consolidated(GroupInfo group);
/// Whether a group has consolidated metadata, true or not.
Result<bool> has_consolidated(const Store& store, std::string_view path);
/// As write_consolidated, of a group whose own documents are written too.
Status write_consolidated(Store& store, std::string_view path, const GroupInfo& group);

}  // namespace penstock

// Directories: what stands in one, all files of a tree, removing a tree.  No recursion, however deep the tree is.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/store.hpp"
#include "store/file/below.hpp"

namespace penstock {

/// Names that `set` uses while it writes: ".penstock-PID-N.tmp".  Never listed, never a key.
bool is_temporary_name(std::string_view name);
std::string temporary_name();

/// Such names in an open directory.
Result<std::vector<std::string>> temporary_files(int directory, FileName name);

/// Entries of the directory `path` below `root` ("" = root), sorted; symbolic links count as what they lead to, and are
/// left out where they lead nowhere.  With Links::inside one that leads out counts as a directory: opening it or what
/// is below it gets the error.  None when it is absent or not a directory.
Result<std::vector<StoreEntry>> list_directory(Root root, const std::string& path);
/// Paths of all files below `path`, sorted.  A symbolic link to a directory is followed unless it leads back to a
/// directory that it stands in.
Result<std::vector<std::string>> list_tree(Root root, const std::string& path);
/// Removes everything below `path` (hidden temporary files too, metadata of the node itself first) and, unless it is
/// "", `path` itself, whatever it is. Symbolic links are removed, not followed.  Absent is fine.
Status remove_tree(Root root, const std::string& path);

}  // namespace penstock

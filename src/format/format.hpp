// Nodes of stores as data, whatever their format, and where they are.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/control.hpp"
#include "penstock/dataset.hpp"
#include "penstock/fill.hpp"
#include "penstock/ngff.hpp"
#include "penstock/store.hpp"

namespace penstock {

struct FormatEntry;  // format/entry.hpp

using NodeInfo = std::variant<Dataset, GroupInfo>;

/// Reads the node at `path` ("" = root): the formats of format/list.cpp are asked in order, those first whose files end
/// as `path` does.  Errors: not_found, those of the formats with the key in front, unsupported (a file of another
/// format, by name).
Result<NodeInfo> read_node(const Store& store, std::string_view path);
/// The same with other formats than those of the list.
Result<NodeInfo> read_node(const Store& store, std::string_view path, std::span<const FormatEntry> formats);
/// Writes the metadata documents of a node; consolidated metadata of groups above it are made anew.  `cancel` ends the
/// wait for others who write there.  Errors: unsupported (a format that is only read), invalid_metadata (by member),
/// cancelled, those of the store.
Status write_node(Store& store, std::string_view path, const NodeInfo& node,
                  const CancelToken& cancel = CancelToken::never());
/// What write_node would say of the node itself; nothing is written.
Status check_node(const NodeInfo& node);
/// Errors: unsupported (a format that is only read).
Status check_can_write(const FormatInfo& format);

/// Splits "/a/b.zarr/c/0" style paths.  The store is the longest prefix that is an archive or a directory with
/// metadata; without one the longest directory that exists.  The node path is what remains: a file too (a .nii), but
/// for the documents of a format, which lead to their directory.  Of URLs, "file://" is read as a path and
/// "memory://name/path" split at the name; others are a store as a whole, but for the name of a file at their end.
/// Links::inside: the highest directory with metadata, up to which every one in between has some: a link below it that
/// leads out is found.  Errors: not_found, invalid_argument (a name that no key can have).
struct Location {
  std::string store_url;
  std::string path;
};
Result<Location> locate(const std::string& url, Links links = Links::follow);

}  // namespace penstock

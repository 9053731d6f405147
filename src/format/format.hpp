// Metadata <-> Dataset.  Pure functions from text to data and back, and the store-level search on top of them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/dataset.hpp"
#include "penstock/fill.hpp"
#include "penstock/ngff.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// A metadata document and the key it belongs at, relative to the node.
struct Document {
  std::string name;  ///< "zarr.json", ".zarray", ".zattrs", ".zgroup"
  std::string text;
};

using NodeInfo = std::variant<Dataset, GroupInfo>;

// zarr v3 (format/zarr3/): https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html
/// Reads zarr.json of an array or a group.  Errors: invalid_metadata naming the member, unsupported (unknown extension
/// that must be understood, by name).
Result<NodeInfo> parse_zarr3(std::string_view zarr_json);
Result<std::string> write_zarr3(const Dataset& dataset);
Result<std::string> write_zarr3(const GroupInfo& group);

// zarr v2 (format/zarr2/): https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
Result<Dataset> parse_zarr2_array(std::string_view zarray, std::string_view zattrs);
Result<GroupInfo> parse_zarr2_group(std::string_view zgroup, std::string_view zattrs);
Result<std::vector<Document>> write_zarr2(const Dataset& dataset);
Result<std::vector<Document>> write_zarr2(const GroupInfo& group);

// both
/// Reads the node at `path` ("" = root): the formats of format/list.cpp are asked in order.  A directory without
/// metadata that has members is an implicit v2 group only when `.zgroup` lies above it; else not_found.  Errors:
/// not_found, those of the parsers with the key in front, unsupported (a file of another format, by name).
Result<NodeInfo> read_node(const Store& store, std::string_view path);
/// Writes the metadata documents of a node; consolidated metadata of groups above it are made anew.
Status write_node(Store& store, std::string_view path, const NodeInfo& node);
/// All metadata below `path` from consolidated metadata (v2 `.zmetadata`, v3 `consolidated_metadata` in the group's
/// zarr.json): path relative to the group -> node, or why it cannot be read.  Empty when there is none.  Another
/// program may have changed what it describes since: what stands is in the nodes' own documents.
Result<std::map<std::string, Result<NodeInfo>>> read_consolidated(const Store& store, std::string_view path);
/// Collects the metadata of everything below the group and writes it as consolidated metadata of the group.
Status write_consolidated(Store& store, std::string_view path);

/// Splits "/a/b.zarr/c/0" style paths.  The store is the longest prefix that is an archive or a directory with
/// metadata; without one the longest directory that exists.  The node path is what remains: a file too (a .nii), but
/// for the documents of zarr, which lead to their directory.  Of URLs, "file://" is read as a path and
/// "memory://name/path" split at the name; others are a store as a whole.
/// Links::inside: the highest directory with metadata, up to which every one in between has some: a link below it that
/// leads out is found.  Errors: not_found, invalid_argument (a name that no key can have).
struct Location {
  std::string store_url;
  std::string path;
};
Result<Location> locate(const std::string& url, Links links = Links::follow);

}  // namespace penstock

// zarr v2 and v3: documents as text to data and back, and from one version to the other.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/format.hpp"

namespace penstock {

/// A metadata document and the key it belongs at, relative to the node.
struct Document {
  std::string name;  ///< "zarr.json", ".zarray", ".zattrs", ".zgroup"
  std::string text;
};

// zarr v3 (v3/): https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html
/// Reads zarr.json of an array or a group.  Errors: invalid_metadata naming the member, unsupported (unknown extension
/// that must be understood, by name).
Result<NodeInfo> parse_zarr3(std::string_view zarr_json);
Result<std::string> write_zarr3(const Dataset& dataset);
Result<std::string> write_zarr3(const GroupInfo& group);

// zarr v2 (v2/): https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
Result<Dataset> parse_zarr2_array(std::string_view zarray, std::string_view zattrs);
Result<GroupInfo> parse_zarr2_group(std::string_view zgroup, std::string_view zattrs);
Result<std::vector<Document>> write_zarr2(const Dataset& dataset);
Result<std::vector<Document>> write_zarr2(const GroupInfo& group);

/// The documents of a node, that which makes it exist first.
Result<std::vector<Document>> zarr_documents(const NodeInfo& node);

/// The array as a copy of it has it in zarr: of another format v3, with an object for each chunk; data types by their
/// usual names.  Another `version` has its keys, and
/// what xarray keeps beside the array in its form; other members of its document are dropped.
/// Errors: invalid_metadata (attributes).
Result<Dataset> as_zarr(Dataset dataset, std::optional<int> version);
/// The group without consolidated metadata.  OME-NGFF 0.4 goes with zarr v2, 0.5 with v3: images and labels are turned
/// into the other.  Errors: those of parse_ngff.
Result<GroupInfo> as_zarr(GroupInfo group, std::optional<int> version);
/// Errors: invalid_argument (neither "." nor "/").
Status set_dimension_separator(Dataset& dataset, std::string_view separator);

/// All metadata below `path` from consolidated metadata (v2 `.zmetadata`, v3 `consolidated_metadata` in the group's
/// zarr.json): path relative to the group -> node, or why it cannot be read.  Empty when there is none.  Another
/// program may have changed what it describes since: what stands is in the nodes' own documents.
Result<std::map<std::string, Result<NodeInfo>>> read_consolidated(const Store& store, std::string_view path);
/// Collects the metadata of everything below the group and writes it as consolidated metadata of the group.
Status write_consolidated(Store& store, std::string_view path);

}  // namespace penstock

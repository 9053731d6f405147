// zarr's rows of the list of formats: nodes by their documents.
#pragma once
#include <array>

#include "format/entry.hpp"

namespace penstock {

inline constexpr std::array<std::string_view, 1> kZarr3Marks = {"zarr.json"};
inline constexpr std::array<std::string_view, 3> kZarr2Marks = {".zarray", ".zgroup", ".zmetadata"};
inline constexpr std::array<std::string_view, 1> kZarr2Beside = {".zattrs"};

/// "Zarr v3"
std::string zarr_title(int version);
/// By zarr.json.
Result<std::optional<NodeInfo>> open_zarr3(Candidate& candidate);
/// By .zarray or .zgroup.  A directory without metadata that has members is a group only when `.zgroup` lies above it.
Result<std::optional<NodeInfo>> open_zarr2(Candidate& candidate);
Status check_zarr(const NodeInfo& node);
/// Makes consolidated metadata of groups above anew.
Status write_zarr(Store& store, std::string_view path, const NodeInfo& node, const CancelToken& cancel);

}  // namespace penstock

namespace penstock::metadata {

/// The documents of a node, as they are given, without a look at consolidated metadata above.
Status write_documents(Store& store, std::string_view path, const NodeInfo& node);

}  // namespace penstock::metadata

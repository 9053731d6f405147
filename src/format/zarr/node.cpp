#include "format/zarr/node.hpp"

#include <ranges>

#include "format/node.hpp"
#include "format/zarr/consolidated.hpp"
#include "format/zarr/zarr.hpp"

namespace penstock {
namespace {

using metadata::child;
using metadata::read_text;

/// Attributes of a v2 node: .zattrs, which may be absent.
Result<std::string> read_attributes(const Store& store, std::string_view path) {
  PENSTOCK_ASSIGN(std::optional<std::string> text, read_text(store, path, ".zattrs"));
  return std::move(text).value_or("");
}

/// A directory below a v2 group is a group, also without a document of its own; not what a copy has begun.
Result<bool> is_implicit_group(const Store& store, std::string_view path) {
  const auto entries = store.list_dir(path);
  if (!entries && entries.error().code() == ErrorCode::unsupported) return false;  // a store that does not list
  PENSTOCK_TRY(entries ? Status() : Status(entries.error()));
  if (entries->empty()) return false;
  while (!path.empty()) {
    PENSTOCK_ASSIGN(const bool begun, store.exists(child(path, metadata::kCopyMarker)));
    if (begun) return false;
    path = path.substr(0, path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/'));
    PENSTOCK_ASSIGN(const bool is_array, store.exists(child(path, ".zarray")));
    if (is_array) return false;  // a directory of chunks
    PENSTOCK_ASSIGN(const bool is_group, store.exists(child(path, ".zgroup")));
    if (is_group) return true;
  }
  return false;
}

}  // namespace

std::string zarr_title(int version) { return "Zarr v" + std::to_string(version); }

Result<std::optional<NodeInfo>> open_zarr3(Candidate& candidate) {
  const Store& store = candidate.store();
  PENSTOCK_ASSIGN(const auto zarr_json, read_text(store, candidate.path(), "zarr.json"));
  if (!zarr_json) return std::optional<NodeInfo>();
  PENSTOCK_ASSIGN_IN(NodeInfo node, parse_zarr3(*zarr_json),
                     metadata::where(store, child(candidate.path(), "zarr.json")));
  return std::optional(std::move(node));
}

Result<std::optional<NodeInfo>> open_zarr2(Candidate& candidate) {
  const Store& store = candidate.store();
  const std::string_view path = candidate.path();
  PENSTOCK_ASSIGN(const auto zarray, read_text(store, path, ".zarray"));
  if (zarray) {
    PENSTOCK_ASSIGN(const std::string zattrs, read_attributes(store, path));
    PENSTOCK_ASSIGN_IN(Dataset array, parse_zarr2_array(*zarray, zattrs),
                       metadata::where(store, child(path, ".zarray")));
    return std::optional<NodeInfo>(std::move(array));
  }
  PENSTOCK_ASSIGN(const auto zgroup, read_text(store, path, ".zgroup"));
  if (zgroup) {
    PENSTOCK_ASSIGN(const std::string zattrs, read_attributes(store, path));
    PENSTOCK_ASSIGN_IN(GroupInfo group, parse_zarr2_group(*zgroup, zattrs),
                       metadata::where(store, child(path, ".zgroup")));
    return std::optional<NodeInfo>(std::move(group));
  }
  PENSTOCK_ASSIGN(const bool implicit, is_implicit_group(store, path));
  return implicit ? std::optional<NodeInfo>(GroupInfo{{"zarr", 2}, "{}"}) : std::nullopt;
}

Result<std::vector<Document>> zarr_documents(const NodeInfo& node) {
  const int version = std::visit([](const auto& info) { return info.format.version; }, node);
  if (version == 2) return std::visit([](const auto& info) { return write_zarr2(info); }, node);
  PENSTOCK_ASSIGN(std::string text, std::visit([](const auto& info) { return write_zarr3(info); }, node));
  return std::vector<Document>{{"zarr.json", std::move(text)}};
}

Status check_zarr(const NodeInfo& node) {
  PENSTOCK_TRY(zarr_documents(node));
  return {};
}

Status write_zarr(Store& store, std::string_view path, const NodeInfo& node, const CancelToken& cancel) {
  NodeInfo written = node;
  if (auto* group = std::get_if<GroupInfo>(&written)) {  // what it was read with may be true no more
    PENSTOCK_ASSIGN(*group, without_consolidated(std::move(*group)));
  }
  return Consolidated::around(store, path, [&] { return metadata::write_documents(store, path, written); }, cancel);
}

Status metadata::write_documents(Store& store, std::string_view path, const NodeInfo& node) {
  PENSTOCK_ASSIGN_IN(const std::vector<Document> documents, zarr_documents(node), metadata::where(store, path));
  // The document that makes the node exist comes last.
  for (const Document& document : std::views::reverse(documents))
    PENSTOCK_TRY(store.set(child(path, document.name), as_bytes(document.text)));
  return {};
}

}  // namespace penstock

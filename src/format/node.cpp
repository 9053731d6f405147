// Nodes of a hierarchy in a store.
#include <fmt/format.h>

#include <algorithm>

#include "format/consolidated.hpp"
#include "format/list.hpp"
#include "format/members.hpp"
#include "format/node.hpp"
#include "format/zarr2/zarr2.hpp"
#include "format/zarr3/zarr3.hpp"
#include "store/fetch_one.hpp"

namespace penstock {
namespace metadata {
namespace {

// Consolidated metadata of a large hierarchy is some 100 MB; a chunk that lies at a metadata key may be any size.
constexpr std::uint64_t kMaxDocumentBytes = std::uint64_t{1} << 30;

}  // namespace

std::string child(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}/{}", path, name);
}

Result<std::optional<std::string>> read_text(const Store& store, std::string_view path, std::string_view name) {
  const std::string key = child(path, name);
  const auto fits = [&](std::uint64_t bytes) -> Status {
    if (bytes <= kMaxDocumentBytes) return {};
    return invalid(key, fmt::format("{} bytes; metadata are at most {}", bytes, kMaxDocumentBytes));
  };
  Bytes text;
  const FetchAnswer answer = fetch_one(store, {key, {}, nullptr}, text, fits);
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return std::optional<std::string>();
  return std::optional(std::string(as_text(text)));
}

std::string where(const Store& store, std::string_view key) { return fmt::format("{}/{}", store.url(), key); }

}  // namespace metadata

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
  PENSTOCK_ASSIGN(const std::vector<StoreEntry> entries, store.list_dir(path));
  if (entries.empty()) return false;
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

Error no_node(const Store& store, std::string_view path) {
  return Error(ErrorCode::not_found, fmt::format("{}: no zarr array or group here", metadata::where(store, path)))
      .set_hint("none of zarr.json, .zarray, .zgroup is there; `penstock tree` lists what a store holds");
}

}  // namespace

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

Result<const Candidate::Head*> Candidate::head() {
  if (asked_ || path_.empty()) return head_ ? &*head_ : nullptr;
  FetchAnswer answer = probe(store_, path_);
  asked_ = true;
  if (!answer.status && answer.status.error().code() == ErrorCode::is_directory) return nullptr;
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return nullptr;
  Head head;
  head.object_bytes = answer.object_bytes;
  head.version = std::move(answer.version);
  const FetchRequest first{path_, ByteRange::span(0, std::min(head.object_bytes, kHeadBytes)), head.same_as()};
  answer = fetch_one(store_, first, head.bytes);
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return nullptr;
  head_ = std::move(head);
  return &*head_;
}

Result<NodeInfo> read_node(const Store& store, std::string_view path) {
  if (!path.empty()) PENSTOCK_TRY(check_key(path));
  Candidate candidate(store, path);
  for (const FormatEntry& format : format_list()) {
    PENSTOCK_ASSIGN(std::optional<NodeInfo> node, format.open(candidate));
    if (node) return *std::move(node);
  }
  return no_node(store, path);
}

Status write_node(Store& store, std::string_view path, const NodeInfo& node) {
  if (!path.empty()) PENSTOCK_TRY(check_key(path));
  NodeInfo written = node;
  if (auto* group = std::get_if<GroupInfo>(&written)) {  // what it was read with may be true no more
    PENSTOCK_ASSIGN(group->format.extra, metadata::without_consolidated(group->format.extra));
  }
  return Consolidated::around(store, path, [&] { return metadata::write_documents(store, path, written); });
}

Status metadata::write_documents(Store& store, std::string_view path, const NodeInfo& node) {
  const auto is_v2 = [](const auto& info) { return info.format.version == 2; };
  if (!std::visit(is_v2, node)) {
    PENSTOCK_ASSIGN_IN(const std::string text, std::visit([](const auto& info) { return write_zarr3(info); }, node),
                       metadata::where(store, child(path, "zarr.json")));
    return store.set(child(path, "zarr.json"), as_bytes(text));
  }
  PENSTOCK_ASSIGN_IN(const std::vector<Document> documents,
                     std::visit([](const auto& info) { return write_zarr2(info); }, node),
                     metadata::where(store, path));
  // The document that makes the node exist comes last.
  for (auto it = documents.rbegin(); it != documents.rend(); ++it)
    PENSTOCK_TRY(store.set(child(path, it->name), as_bytes(it->text)));
  return {};
}

}  // namespace penstock

// Consolidated metadata: the documents of a whole hierarchy in one.
// v2: .zmetadata, https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#consolidated-metadata
// v3: the member `consolidated_metadata` of the group's zarr.json, as zarr-python writes it.
#include "format/zarr/consolidated.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/documents.hpp"
#include "format/members.hpp"
#include "format/node.hpp"
#include "format/zarr/node.hpp"
#include "format/zarr/v2/zarr2.hpp"
#include "format/zarr/v3/zarr3.hpp"
#include "store/condition.hpp"

namespace penstock {
namespace {

using metadata::child;
using metadata::invalid;
using metadata::read_text;
using metadata::shown;

using Nodes = std::map<std::string, NodeInfo>;

// Deeper than any hierarchy; a directory that links to one of its parents would never end.
constexpr int kMaxDepth = 64;

/// What consolidated metadata say of a node: one that cannot be read must not hide the others.
using ReadNodes = std::map<std::string, Result<NodeInfo>>;

Result<NodeInfo> named(Result<NodeInfo> node, std::string_view name) {
  if (!node) node.error().add_context(name);
  return node;
}

Result<NodeInfo> parse_v3_node(const std::string& path, const Json& document) {
  if (const Status valid = check_key(path); !valid) return Error(ErrorCode::invalid_metadata, valid.error().message());
  return zarr3::parse(document);
}

Result<ReadNodes> parse_v3(const Json& group) {
  const Json consolidated = group.is_object() ? group.value("consolidated_metadata", Json()) : Json();
  if (consolidated.is_null()) return ReadNodes();
  constexpr std::string_view where = "consolidated_metadata";
  PENSTOCK_ASSIGN_IN(const std::string kind, string_member(consolidated, "kind"), where);
  if (kind != "inline") return ReadNodes();  // another kind may be ignored: the documents themselves are there
  PENSTOCK_ASSIGN_IN(const Json* documents, member(consolidated, "metadata"), where);
  if (!documents->is_object())
    return invalid("consolidated_metadata.metadata", fmt::format("must be an object, is {}", shown(*documents)));
  ReadNodes nodes;
  for (const auto& [path, document] : documents->items())
    nodes.emplace(path, named(parse_v3_node(path, document), fmt::format("{}.metadata[\"{}\"]", where, path)));
  return nodes;
}

/// Path of the node that a v2 document belongs to, when its name is `name`.
std::optional<std::string> node_of(const std::string& key, std::string_view name) {
  if (key == name) return "";
  if (!key.ends_with(name) || key[key.size() - name.size() - 1] != '/') return std::nullopt;
  return key.substr(0, key.size() - name.size() - 1);
}

Result<NodeInfo> parse_v2_node(const std::string& key, const Json& document, const Json& zattrs, bool is_array) {
  if (const Status valid = check_key(key); !valid) return Error(ErrorCode::invalid_metadata, valid.error().message());
  if (is_array) {
    PENSTOCK_ASSIGN(Dataset dataset, zarr2::parse_array(document, zattrs));
    return NodeInfo(std::move(dataset));
  }
  PENSTOCK_ASSIGN(GroupInfo info, zarr2::parse_group(document, zattrs));
  return NodeInfo(std::move(info));
}

Result<ReadNodes> parse_v2(const Json& zmetadata) {
  PENSTOCK_TRY(int_member(zmetadata, "zarr_consolidated_format", 1, 1));
  PENSTOCK_ASSIGN(const Json* documents, member(zmetadata, "metadata"));
  if (!documents->is_object()) return invalid("metadata", fmt::format("must be an object, is {}", shown(*documents)));
  ReadNodes nodes;
  for (const auto& [key, document] : documents->items()) {
    const auto array = node_of(key, ".zarray");
    const auto group = node_of(key, ".zgroup");
    const std::string path = array ? *array : group ? *group : "";
    if (path.empty()) continue;  // the group itself, or attributes
    const Json zattrs = documents->value(path + "/.zattrs", Json(Json::object()));
    auto node = named(parse_v2_node(key, document, zattrs, array.has_value()), fmt::format("metadata[\"{}\"]", key));
    if (array)
      nodes.insert_or_assign(path, std::move(node));
    else
      nodes.emplace(path, std::move(node));
  }
  return nodes;
}

/// Everything below a group, by walking; arrays are not entered.
Status collect(const Store& store, std::string_view root, const std::string& below, int depth, Nodes& nodes) {
  if (depth > kMaxDepth)
    return Error(ErrorCode::unsupported, fmt::format("{}: a hierarchy deeper than {} levels",
                                                     metadata::where(store, child(root, below)), kMaxDepth));
  const std::string at = below.empty() ? std::string(root) : child(root, below);
  PENSTOCK_ASSIGN(const std::vector<StoreEntry> entries, store.list_dir(at));
  const Documents documents(store, below_paths(at, entries));
  for (const StoreEntry& entry : entries) {
    if (!entry.is_prefix || entry.name.starts_with(metadata::kOwnNames)) continue;
    auto node = read_node(documents, child(at, entry.name));
    if (!node && node.error().code() == ErrorCode::not_found) continue;
    if (!node) return std::move(node).error();
    const std::string path = child(below, entry.name);
    if (std::holds_alternative<GroupInfo>(*node)) PENSTOCK_TRY(collect(store, root, path, depth + 1, nodes));
    nodes.emplace(path, *std::move(node));
  }
  return {};
}

Json inline_metadata(Json documents) {
  Json out = Json::object();
  out["kind"] = "inline";
  out["must_understand"] = false;
  out["metadata"] = std::move(documents);
  return out;
}

Status write_v3(Store& store, std::string_view path, GroupInfo group, const Nodes& nodes) {
  Json documents = Json::object();
  for (const auto& [name, node] : nodes) {
    auto document = std::visit([](const auto& info) { return zarr3::to_json(info); }, node);
    if (!document) return std::move(std::move(document).error().add_context(name));
    // zarr-python takes a group without this member for one whose members are not known.
    if (std::holds_alternative<GroupInfo>(node)) (*document)["consolidated_metadata"] = inline_metadata(Json::object());
    documents[name] = *std::move(document);
  }
  PENSTOCK_ASSIGN(group, without_consolidated(std::move(group)));
  Json extra = Json::object();
  if (!group.format.extra.empty()) {
    PENSTOCK_ASSIGN(extra, parse_json(group.format.extra));
  }
  extra["consolidated_metadata"] = inline_metadata(std::move(documents));
  group.format.extra = dump_json(extra);
  return metadata::write_documents(store, path, NodeInfo(std::move(group)));
}

Status write_v2(Store& store, std::string_view path, const GroupInfo& group, const Nodes& nodes) {
  Json documents = Json::object();
  const auto add = [&](const std::string& name, const auto& info) -> Status {
    PENSTOCK_ASSIGN_IN(const zarr2::JsonDocuments made, zarr2::to_json(info), name);
    for (const auto& [document, json] : made) documents[child(name, document)] = json;
    return {};
  };
  PENSTOCK_TRY(metadata::write_documents(store, path, NodeInfo(group)));
  PENSTOCK_TRY(add("", group));
  for (const auto& [name, node] : nodes)
    PENSTOCK_TRY(std::visit([&](const auto& info) { return add(name, info); }, node));
  Json zmetadata = Json::object();
  zmetadata["metadata"] = std::move(documents);
  zmetadata["zarr_consolidated_format"] = 1;
  return store.set(child(path, ".zmetadata"), as_bytes(dump_json(zmetadata, 2)));
}

/// The member of a group's zarr.json; nullopt: there is none, or no document that can be read.
Result<std::optional<Json>> document_with_inline(const Store& store, std::string_view path) {
  constexpr std::string_view member = "consolidated_metadata";
  PENSTOCK_ASSIGN(const auto text, read_text(store, path, "zarr.json"));
  if (!text || text->find(member) == std::string::npos) return std::optional<Json>();
  auto document = parse_json(*text);
  if (!document || !document->is_object() || !is_text(document->value("node_type", Json()), "group") ||
      document->value(member, Json()).is_null())
    return std::optional<Json>();
  return std::optional(*std::move(document));
}

/// Whether there was something to drop.
Result<bool> drop_of(Store& store, std::string_view path) {
  PENSTOCK_ASSIGN(std::optional<Json> document, document_with_inline(store, path));
  if (document) {
    document->erase("consolidated_metadata");
    PENSTOCK_TRY(store.set(child(path, "zarr.json"), as_bytes(dump_json(*document, 2))));
  }
  const std::string zmetadata = child(path, ".zmetadata");
  PENSTOCK_ASSIGN(const bool there, store.exists(zmetadata));
  if (there) PENSTOCK_TRY(store.erase(zmetadata));
  return document.has_value() || there;
}

bool is_group_directory(const std::filesystem::path& directory) {
  std::error_code error;
  for (const char* name : {"zarr.json", ".zgroup", ".zmetadata"})
    if (std::filesystem::exists(directory / name, error)) return true;
  return false;
}

}  // namespace

Result<std::map<std::string, Result<NodeInfo>>> read_consolidated(const Store& store, std::string_view path) {
  if (!path.empty()) PENSTOCK_TRY(check_key(path));
  PENSTOCK_ASSIGN(const auto zarr_json, read_text(store, path, "zarr.json"));
  PENSTOCK_ASSIGN(const auto text, zarr_json ? Result(zarr_json) : read_text(store, path, ".zmetadata"));
  if (!text) return ReadNodes();
  const std::string where = metadata::where(store, child(path, zarr_json ? "zarr.json" : ".zmetadata"));
  PENSTOCK_ASSIGN_IN(const Json document, parse_json(*text), where);
  PENSTOCK_ASSIGN_IN(ReadNodes nodes, zarr_json ? parse_v3(document) : parse_v2(document), where);
  for (auto& [name, node] : nodes)
    if (!node) node.error().add_context(where);
  return nodes;
}

Status write_consolidated(Store& store, std::string_view path) {
  PENSTOCK_ASSIGN(const NodeInfo node, read_node(store, path));
  const auto* group = std::get_if<GroupInfo>(&node);
  if (group == nullptr)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{}: an array; only groups have consolidated metadata", metadata::where(store, path)));
  return write_consolidated(store, path, *group);
}

Status write_consolidated(Store& store, std::string_view path, const GroupInfo& group) {
  Nodes nodes;
  PENSTOCK_TRY(collect(store, path, "", 0, nodes));
  return group.format.version == 2 ? write_v2(store, path, group, nodes) : write_v3(store, path, group, nodes);
}

Result<bool> has_consolidated(const Store& store, std::string_view path) {
  PENSTOCK_ASSIGN(const std::optional<Json> document, document_with_inline(store, path));
  if (document) return true;
  return store.exists(child(path, ".zmetadata"));
}

Result<GroupInfo> without_consolidated(GroupInfo group) {
  std::string& extra = group.format.extra;
  if (extra.find("consolidated_metadata") == std::string::npos) return group;
  PENSTOCK_ASSIGN(Json members, parse_json(extra));
  members.erase("consolidated_metadata");
  extra = members.empty() ? std::string() : dump_json(members);
  return group;
}

Result<std::unique_ptr<ObjectLock>> lock_metadata(const Store& store, std::string_view path,
                                                  const CancelToken& cancel) {
  // One name for the documents of both versions.
  return store.lock(child(path, "zarr.json"), LockUse::change, not_cancelled(cancel));
}

/// The node itself, then the groups above it, also those in the directories above the store.
Result<std::vector<Consolidated::Group>> Consolidated::groups_from(Store& store, std::string_view path) {
  std::vector<Group> groups = {{nullptr, &store, std::string(path)}};
  for (std::string at(path); !at.empty();) {
    const std::size_t slash = at.rfind('/');
    at = slash == std::string::npos ? "" : at.substr(0, slash);
    bool is_group = false;
    for (const char* name : {"zarr.json", ".zgroup", ".zmetadata"}) {
      if (is_group) break;
      PENSTOCK_ASSIGN(is_group, store.exists(child(at, name)));
    }
    if (is_group) groups.push_back({nullptr, &store, at});
  }
  // A store may have been opened at a node inside a hierarchy of directories.
  PENSTOCK_ASSIGN(std::vector<Group> above, groups_above(store.url(), store.options()));
  for (Group& group : above) groups.push_back(std::move(group));
  return groups;
}

/// The groups in the directories above one, the deepest first.
Result<std::vector<Consolidated::Group>> Consolidated::groups_above(const std::string& directory,
                                                                    const StoreOptions& options) {
  std::vector<Group> groups;
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) return groups;
  const auto root = std::filesystem::canonical(directory, error);
  if (error) return groups;
  for (auto at = root.parent_path(); is_group_directory(at); at = at.parent_path()) {
    PENSTOCK_ASSIGN(std::shared_ptr<Store> above, open_store(at.string(), StoreMode::read_write, options));
    Store* raw = above.get();
    groups.push_back({std::move(above), raw, ""});
    if (at == at.parent_path()) break;
  }
  return groups;
}

/// Takes away those of one group, with its documents locked.
Status Consolidated::drop_one(Group group, const CancelToken& cancel) {
  PENSTOCK_ASSIGN(const auto lock, lock_metadata(*group.store, group.path, cancel));
  PENSTOCK_ASSIGN(const bool there, drop_of(*group.store, group.path));
  if (there) groups_.push_back(std::move(group));
  return {};
}

Status Consolidated::drop_above(const std::string& directory, const StoreOptions& options, const CancelToken& cancel) {
  PENSTOCK_ASSIGN(std::vector<Group> groups, groups_above(directory, options));
  for (Group& group : groups) PENSTOCK_TRY(drop_one(std::move(group), cancel));
  return {};
}

Result<Consolidated> Consolidated::drop(Store& store, std::string_view path, const CancelToken& cancel) {
  Consolidated dropped;
  PENSTOCK_ASSIGN(std::vector<Group> groups, groups_from(store, path));
  // The node itself is the caller's, who may hold its lock.
  PENSTOCK_ASSIGN(const bool there, drop_of(*groups.front().store, groups.front().path));
  if (there) dropped.groups_.push_back(groups.front());
  for (std::size_t i = 1; i < groups.size(); ++i) PENSTOCK_TRY(dropped.drop_one(std::move(groups[i]), cancel));
  return dropped;
}

Status Consolidated::renew(const Group& group) {
  const auto node = read_node(*group.store, group.path);
  if (node && !std::holds_alternative<GroupInfo>(*node)) return {};  // an array was put in its place
  const Status written = write_consolidated(*group.store, group.path);
  if (written) return {};
  // A document that leaves out what cannot be read would hide it: the group stays without one.
  const ErrorCode why = written.error().code();
  if (why == ErrorCode::invalid_metadata || why == ErrorCode::unsupported || why == ErrorCode::not_found) return {};
  return written;
}

Status Consolidated::renew(const CancelToken& cancel) {
  for (const Group& group : groups_) {
    PENSTOCK_ASSIGN(const auto lock, lock_metadata(*group.store, group.path, cancel));
    PENSTOCK_TRY(renew(group));
  }
  groups_.clear();
  return {};
}

Status Consolidated::around(Store& store, std::string_view path, const std::function<Status()>& write,
                            const CancelToken& cancel) {
  PENSTOCK_ASSIGN(std::vector<Group> groups, groups_from(store, path));
  std::vector<std::unique_ptr<ObjectLock>> locks;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    PENSTOCK_ASSIGN(auto lock, lock_metadata(*groups[i].store, groups[i].path, cancel));
    locks.push_back(std::move(lock));
  }
  std::vector<const Group*> dropped;
  for (const Group& group : groups) {
    PENSTOCK_ASSIGN(const bool there, drop_of(*group.store, group.path));
    if (there) dropped.push_back(&group);
  }
  PENSTOCK_TRY(write());
  for (const Group* group : dropped) PENSTOCK_TRY(renew(*group));
  return {};
}

}  // namespace penstock

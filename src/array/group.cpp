// Groups, and opening a node by its URL.
#include <fmt/format.h>

#include <set>

#include "array/parents.hpp"
#include "core/guard.hpp"
#include "core/json.hpp"
#include "core/settings.hpp"
#include "format/documents.hpp"
#include "format/format.hpp"
#include "format/nifti/gunzip_store.hpp"
#include "format/node.hpp"
#include "format/zarr/consolidated.hpp"
#include "penstock/array.hpp"
#include "penstock/members.hpp"
#include "penstock/zarr.hpp"

namespace penstock {

struct Group::State {
  std::shared_ptr<Store> store;
  std::string path;
  GroupInfo info;
};

namespace {

std::string trimmed(std::string_view path) {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return std::string(path);
}

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "/" + std::string(name);
}

}  // namespace

Result<Group> Group::open(std::shared_ptr<Store> store, std::string_view path) {
  const std::string where = trimmed(path);
  PENSTOCK_ASSIGN(NodeInfo node, read_node(*store, where));
  if (!std::holds_alternative<GroupInfo>(node))
    return Error(ErrorCode::invalid_argument, fmt::format("{}: an array, not a group", joined(store->url(), where)));
  return with_metadata(std::move(store), where, std::get<GroupInfo>(std::move(node)));
}

Group Group::with_metadata(std::shared_ptr<Store> store, std::string_view path, GroupInfo info) {
  Group group;
  group.state_ = std::make_shared<State>(State{std::move(store), trimmed(path), std::move(info)});
  return group;
}

Result<Group> Group::create(std::shared_ptr<Store> store, std::string_view path, GroupInfo info,
                            Array::IfExists if_exists) {
  const std::string where = trimmed(path);
  PENSTOCK_TRY(check_zarr_name(where.empty() ? store->url() : joined(store->url(), where)));
  PENSTOCK_TRY(check_not_below_array(*store, where));
  const auto there = read_node(*store, where);
  if (there && if_exists == Array::IfExists::fail)
    return Error(ErrorCode::already_exists, fmt::format("{}: there is something already", joined(store->url(), where)))
        .set_hint("Choose another place, or allow overwriting.");
  if (!there && there.error().code() != ErrorCode::not_found) return there.error();
  PENSTOCK_ASSIGN(Consolidated consolidated, Consolidated::drop(*store, where));
  if (there) PENSTOCK_TRY(store->erase_prefix(where));
  PENSTOCK_TRY(write_node(*store, where, info));
  PENSTOCK_TRY(consolidated.renew());
  return with_metadata(std::move(store), where, std::move(info));
}

const GroupInfo& Group::info() const { return state_->info; }
std::shared_ptr<Store> Group::store_ptr() const { return state_->store; }
const std::string& Group::path() const { return state_->path; }

namespace {

/// Of a store that does not list: what consolidated metadata say.
Result<std::vector<Group::Member>> consolidated_members(const Store& store, const std::string& path, Error why) {
  PENSTOCK_ASSIGN(const auto nodes, read_consolidated(store, path));
  PENSTOCK_ASSIGN(const bool consolidated, nodes.empty() ? has_consolidated(store, path) : Result<bool>(true));
  if (!consolidated) return why;
  std::vector<Group::Member> members;
  for (const auto& [name, node] : nodes)
    if (name.find('/') == std::string::npos) members.push_back({name, !node || std::holds_alternative<Dataset>(*node)});
  return members;
}

}  // namespace

Result<std::vector<Group::Member>> Group::members() const {
  std::vector<Member> members;
  const auto listed = state_->store->list_dir(state_->path);
  if (!listed && listed.error().code() == ErrorCode::unsupported)
    return consolidated_members(*state_->store, state_->path, listed.error());
  PENSTOCK_ASSIGN(const std::vector<StoreEntry> entries, listed);
  const Documents documents(*state_->store, below_paths(state_->path, entries));
  for (const StoreEntry& entry : entries) {
    if (!entry.is_prefix || entry.name.starts_with(metadata::kOwnNames)) continue;
    const auto node = read_node(documents, joined(state_->path, entry.name));
    if (node) {
      members.push_back({entry.name, std::holds_alternative<Dataset>(*node)});
      continue;
    }
    const ErrorCode why = node.error().code();
    if (why == ErrorCode::not_found) continue;
    // One member that cannot be read must not hide the others.
    if (why != ErrorCode::invalid_metadata && why != ErrorCode::unsupported && why != ErrorCode::permission_denied)
      return node.error();
    members.push_back({entry.name, true});
  }
  return members;
}

Status Group::consolidate() const {
  return guarded([&] { return write_consolidated(*state_->store, state_->path); });
}

Status Group::set_attributes(std::string_view attributes_json, const CancelToken& cancel) {
  return guarded([&]() -> Status {
    PENSTOCK_ASSIGN_IN(const Json attributes, parse_json(attributes_json), "attributes");
    if (!attributes.is_object()) return Error(ErrorCode::invalid_argument, "attributes must be a JSON object");
    PENSTOCK_ASSIGN(const auto lock, lock_metadata(*state_->store, state_->path, cancel));
    // As it stands now: another handle may have changed it since this one was opened.
    PENSTOCK_ASSIGN(NodeInfo node, read_node(*state_->store, state_->path));
    if (!std::holds_alternative<GroupInfo>(node))
      return Error(ErrorCode::invalid_argument, fmt::format("{}: an array was put in the group's place; open it again",
                                                            joined(state_->store->url(), state_->path)));
    GroupInfo info = std::get<GroupInfo>(std::move(node));
    info.attributes = dump_json(attributes);
    PENSTOCK_TRY(write_node(*state_->store, state_->path, info, cancel));
    state_->info = std::move(info);
    return {};
  });
}

Result<Node> open(const std::string& url, StoreMode mode, const StoreOptions& options) {
  auto node = [&]() -> Result<Node> {
    StoreOptions how = options;
    PENSTOCK_ASSIGN(how.links, options.links ? Result<Links>(*options.links) : default_links());
    PENSTOCK_ASSIGN(const Location location, locate(url, *how.links));
    PENSTOCK_ASSIGN(std::shared_ptr<Store> store, open_store(location.store_url, mode, how));
    return open(std::move(store), location.path);
  }();
  if (node) return node;
  return redacted(node.error());
}

namespace {

/// The node at `path`, whose metadata `documents` may have in memory.
Result<Node> open_in(const Store& documents, std::shared_ptr<Store> store, const std::string& path) {
  PENSTOCK_ASSIGN(NodeInfo node, read_node(documents, path));
  if (auto* group = std::get_if<GroupInfo>(&node))
    return Node(Group::with_metadata(std::move(store), path, std::move(*group)));
  PENSTOCK_ASSIGN(Array array, Array::with_metadata(std::move(store), path, std::get<Dataset>(std::move(node))));
  return Node(std::move(array));
}

}  // namespace

Result<Node> open(std::shared_ptr<Store> store, std::string_view path) {
  const std::string where = trimmed(path);
  store = seen_through_gzip(std::move(store), where);
  const Store& documents = *store;
  return open_in(documents, std::move(store), where);
}

Result<std::vector<Node>> open_nodes(std::shared_ptr<Store> store, std::span<const std::string> paths) {
  std::vector<std::string> where;
  for (const std::string& path : paths) where.push_back(trimmed(path));
  const Documents documents(*store, where);
  std::vector<Node> nodes;
  for (const std::string& path : where) {
    PENSTOCK_ASSIGN(Node node, open_in(documents, store, path));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<std::vector<NamedNode>> open_members(const Group& group) {
  const std::shared_ptr<Store> store = group.store_ptr();
  std::vector<NamedNode> members;
  const auto listed = store->list_dir(group.path());
  if (!listed && listed.error().code() != ErrorCode::unsupported) return listed.error();
  if (!listed) {  // consolidated metadata know the names
    PENSTOCK_ASSIGN(const auto known, group.members());
    std::vector<std::string> paths;
    for (const Group::Member& member : known) paths.push_back(joined(group.path(), member.name));
    PENSTOCK_ASSIGN(std::vector<Node> nodes, open_nodes(store, paths));
    for (std::size_t i = 0; i < nodes.size(); ++i) members.push_back({known[i].name, std::move(nodes[i])});
    return members;
  }
  const std::vector<std::string> paths = below_paths(group.path(), *listed);
  const Documents documents(*store, paths);
  for (const std::string& path : paths) {
    auto node = open_in(documents, store, path);
    if (!node && node.error().code() == ErrorCode::not_found) continue;
    if (!node) return node.error();
    members.push_back({path.substr(path.rfind('/') + 1), *std::move(node)});
  }
  return members;
}

}  // namespace penstock

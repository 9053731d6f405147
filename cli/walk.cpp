#include "cli/walk.hpp"

#include <fmt/format.h>

#include "cli/describe.hpp"

namespace penstock::cli {
namespace {

constexpr int kMaxDepth = 64;  // a hierarchy that is deeper is a loop of links

Status walk_below(const Group& group, const std::string& name, int depth, int max_depth, const Visit& visit) {
  if (depth >= kMaxDepth)
    return Error(ErrorCode::invalid_metadata, fmt::format("{}: groups nested deeper than {}", name, kMaxDepth));
  if (depth >= max_depth) return {};
  PENSTOCK_ASSIGN(const auto members, group.members());
  for (const Group::Member& member : members) {
    const std::string path = joined(group.path(), member.name);
    const std::string shown = joined(name, member.name);
    const bool last = &member == &members.back();
    if (member.is_array) {
      PENSTOCK_ASSIGN_IN(Node array, Array::open(group.store_ptr(), path), shown);
      PENSTOCK_TRY(visit(shown, array, depth, last));
      continue;
    }
    PENSTOCK_ASSIGN_IN(Group below, Group::open(group.store_ptr(), path), shown);
    PENSTOCK_TRY(visit(shown, Node(below), depth, last));
    PENSTOCK_TRY(walk_below(below, shown, depth + 1, max_depth, visit));
  }
  return {};
}

}  // namespace

Result<Node> open_node(const std::string& url) {
  auto node = open(url, StoreMode::read);
  if (!node && node.error().code() == ErrorCode::not_found && node.error().hint().empty())
    node.error().set_hint("a store is a directory with zarr.json, .zarray or .zgroup in it, or a zip of one.");
  return node;
}

Result<Array> open_array(const std::string& url) {
  PENSTOCK_ASSIGN(Node node, open_node(url));
  if (auto* array = std::get_if<Array>(&node)) return std::move(*array);
  std::string names;
  if (const auto members = std::get<Group>(node).members())
    for (const Group::Member& m : *members) names += (names.empty() ? "" : ", ") + m.name;
  return Error(ErrorCode::invalid_argument, fmt::format("{} is a group; name an array in it", url))
      .set_hint(names.empty() ? "the group is empty." : "it holds: " + names);
}

Status walk(const Group& group, int max_depth, const Visit& visit) {
  return walk_below(group, "", 0, max_depth, visit);
}

}  // namespace penstock::cli

#include "cli/nodes/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "cli/nodes/describe.hpp"
#include "cli/nodes/missing.hpp"

namespace penstock::cli {
namespace {

constexpr int kMaxDepth = 64;  // a hierarchy that is deeper is a loop of links

/// Whether the store itself says best what is not there.
bool is_elsewhere(const std::string& url) {
  return std::ranges::any_of(std::array{"memory://", "s3://", "http://", "https://"},
                             [&](const char* scheme) { return url.starts_with(scheme); });
}

Result<Node> open_member(const Group& group, const std::string& path, bool is_array) {
  if (is_array) {
    PENSTOCK_ASSIGN(Array array, Array::open(group.store_ptr(), path));
    return Node(std::move(array));
  }
  PENSTOCK_ASSIGN(Group below, Group::open(group.store_ptr(), path));
  return Node(std::move(below));
}

struct Walk {
  int max_depth;
  const Visit& visit;
  const Broken& broken;
};

Status walk_below(const Walk& w, const Group& group, const std::string& name, int depth) {
  if (depth >= kMaxDepth)
    return Error(ErrorCode::invalid_metadata, fmt::format("{}: groups nested deeper than {}", name, kMaxDepth));
  if (depth >= w.max_depth) return {};
  PENSTOCK_ASSIGN(const auto members, group.members());
  for (const Group::Member& member : members) {
    const std::string path = joined(group.path(), member.name);
    const std::string shown = joined(name, member.name);
    const bool last = &member == &members.back();
    auto node = open_member(group, path, member.is_array);
    if (!node && w.broken) {
      PENSTOCK_TRY(w.broken(shown, node.error(), depth, last));
      continue;
    }
    if (!node) return std::move(node).error();
    PENSTOCK_TRY(w.visit(shown, *node, depth, last));
    if (const auto* below = std::get_if<Group>(&*node)) PENSTOCK_TRY(walk_below(w, *below, shown, depth + 1));
  }
  return {};
}

}  // namespace

Result<Node> open_node(const std::string& url, const StoreOptions& options, StoreMode mode) {
  auto node = open(url, mode, options);
  if (node || is_elsewhere(url)) return node;
  const bool nothing = node.error().code() == ErrorCode::not_found || node.error().system_errno() == ENOTDIR;
  return nothing ? nothing_at(url) : node;
}

Result<Array> open_array(const std::string& url, const StoreOptions& options) {
  PENSTOCK_ASSIGN(Node node, open_node(url, options));
  if (auto* array = std::get_if<Array>(&node)) return std::move(*array);
  std::vector<std::string> names;
  if (const auto members = std::get<Group>(node).members())
    for (const Group::Member& m : *members) names.push_back(m.name);
  return Error(ErrorCode::invalid_argument, fmt::format("{} is a group; name an array in it", url))
      .set_hint(names.empty() ? "the group is empty." : "it holds: " + some_names(names));
}

Status walk(const Group& group, int max_depth, const Visit& visit, const Broken& broken) {
  return walk_below({max_depth, visit, broken}, group, "", 0);
}

}  // namespace penstock::cli

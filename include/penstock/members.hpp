// Several nodes of a hierarchy, opened together.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "penstock/array.hpp"

namespace penstock {

/// The nodes at several paths of a store, in their order: where it is far away, all are asked for together.
/// Errors: as of open; the first one.
PENSTOCK_API Result<std::vector<Node>> open_nodes(std::shared_ptr<Store> store, std::span<const std::string> paths);

/// A member of a group, opened.
struct NamedNode {
  std::string name;
  Node node;
};
/// All direct members of a group, sorted, by the requests that Group::members makes.
/// Errors: as of members and open; that of the first member that cannot be opened.
PENSTOCK_API Result<std::vector<NamedNode>> open_members(const Group& group);

}  // namespace penstock

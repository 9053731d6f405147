// Going through the arrays below a node.
#pragma once
#include <functional>

#include "penstock/array.hpp"

namespace penstock::cli {

/// Opens what `url` names, with the hint that helps when nothing is there.
Result<Node> open_node(const std::string& url, const StoreOptions& options = {}, StoreMode mode = StoreMode::read);
/// Opens an array.  Errors: invalid_argument when it is a group (lists the arrays in it).
Result<Array> open_array(const std::string& url, const StoreOptions& options = {});

/// Calls `visit(name, node, depth)` for everything below `group`, parents first, siblings in order; `name` relative to
/// the group.  Stops at the first error, and below `max_depth`.  A member that cannot be opened goes to `broken`;
/// without it that is the first error.
using Visit = std::function<Status(const std::string& name, const Node& node, int depth, bool last)>;
using Broken = std::function<Status(const std::string& name, const Error& error, int depth, bool last)>;
Status walk(const Group& group, int max_depth, const Visit& visit, const Broken& broken = nullptr);

}  // namespace penstock::cli

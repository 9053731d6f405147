// What a copy will write, node by node, and how it is recognised when it is gone on with.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "copy/pyramid.hpp"
#include "format/format.hpp"
#include "penstock/copy.hpp"

namespace penstock {

/// A node of the copy.
struct PlannedNode {
  std::string path;           ///< below the copy; "" is the copy itself
  NodeInfo info;              ///< what will be written
  std::optional<Array> from;  ///< where an array's elements come from; none: from the level before it
  Region region;              ///< of `from`
  bool consolidated = false;  ///< a group with consolidated metadata
};

/// All of a copy.
struct TreePlan {
  std::string source;                  ///< where it comes from, the same however its store was opened
  std::vector<PlannedNode> nodes;      ///< each after what is below it, so the copy itself comes last
  std::vector<std::uint32_t> factors;  ///< of a pyramid, from level to level
  LevelMethod how;

  /// Decoded bytes of all arrays.
  [[nodiscard]] Result<std::uint64_t> total_bytes() const;
  /// What the marker in an unfinished copy says of it; `run` tells this copy from others of the same plan.
  [[nodiscard]] Result<std::string> marker(std::string_view run) const;
  /// What is not the same in the copy that left this marker; empty: nothing.
  [[nodiscard]] Result<std::string> difference_from(std::string_view marker) const;
};
Result<TreePlan> plan_tree(const Node& from, const CopyOptions& how);

/// The first member of the metadata in which two nodes differ, with both values; empty: none.
Result<std::string> node_difference(const NodeInfo& asked, const NodeInfo& there);

/// "a/b"; either may be empty.
std::string joined(std::string_view a, std::string_view b);

/// Copies an array as it is, and leaves the groups above it as they are.
Result<Report> copy_alone(const Array& from, const std::shared_ptr<Store>& to_store, const std::string& to_path,
                          Array::IfExists if_exists, const Options& options);

}  // namespace penstock

// Copying nodes: one array, an array with its pyramid, or a hierarchy.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "cli/target.hpp"
#include "core/json.hpp"
#include "penstock/array.hpp"

namespace penstock::cli {

struct CopyJob {
  Array::IfExists force = Array::IfExists::fail;
  Resume resume = Resume::no;
  Options options;
  StoreOptions store;  ///< how the target is opened
  /// What changes in an array.
  std::function<Result<CopyChanges>(const Dataset&)> changes;
  std::optional<int> zarr_format;  ///< of groups
  std::optional<PyramidOptions> pyramid;
};

/// What a copy would write.
struct CopyPlan {
  std::string text;
  Json json;
  std::string losses;  ///< a line for each thing that the copy cannot carry
};
Result<CopyPlan> plan_copy(const CopyJob& job, const Node& from);

/// Does it.  The report sums up all arrays.  Groups are written after what is in them, the root last.
Result<Report> run_copy(const CopyJob& job, const Node& from, const TargetNode& to);

}  // namespace penstock::cli

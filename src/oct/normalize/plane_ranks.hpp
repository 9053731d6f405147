// Percentiles of each plane of a volume, exact, in two passes over it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "oct/walk/walk.hpp"

namespace penstock::oct {

/// What is wanted of each plane: elements by their number among all in ascending order, or among those of some columns.
struct PlaneRequest {
  double percentile = 99.9;           ///< of all
  std::vector<std::uint8_t> columns;  ///< row by row: 1 for those whose median is wanted; 0 everywhere: it is not
};
struct PlaneStatistics {
  double least = 0, percentile = 0;
  std::optional<double> median;  ///< of the columns
};
/// Elements that are no numbers, or infinite, count as 0.  The keys of elements are counted by their upper half, then
/// by their lower half, in tables of each plane; where the budget has no room for all of them, some planes at a time.
Result<std::vector<PlaneStatistics>> plane_statistics(const Volume& volume, const std::string& path,
                                                      const PlaneRequest& request, Device device,
                                                      const Options& options);

}  // namespace penstock::oct

// Which step feeds which, and all of them in one call.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oct/step.hpp"

namespace penstock::oct {

/// A step of each slice: what it reads and writes, with "zNN" for the slice.  Paths count from the folder of results;
/// "RAW" is the folder of raw tiles.
struct SliceStep {
  std::string_view step;
  std::string_view in, out;
  std::map<std::string, std::string> options;  ///< values may hold "zNN" too
};
/// In the order in which they run.
std::span<const SliceStep> slice_steps();

Step reconstruct_step();

}  // namespace penstock::oct

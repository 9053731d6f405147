// What is wrong with a reconstruction, said before its steps run for hours.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "oct/file/shifts.hpp"
#include "oct/step.hpp"

namespace penstock::oct {

/// The slices of a run.
struct RunPlan {
  std::vector<SlicePosition> positions;  ///< where each lies, ascending
  std::set<std::uint64_t> left_out;      ///< slices that are not to be used
  std::vector<std::string> warnings;
};
/// Reads every info.txt, the shifts and which slices are used, and holds the options against them.
/// Errors: those of reading; invalid_argument, invalid_metadata (sizes that cannot be, slices whose voxels differ).
Result<RunPlan> check_reconstruction(const StepCall& call);

}  // namespace penstock::oct

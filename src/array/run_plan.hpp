// Carries out the plan of a read.
#pragma once
#include "array/plan/plan.hpp"
#include "penstock/array.hpp"

namespace penstock {

/// Reads into `targets`' memory what the plan says, by its budget, its workers and its choices.  `streams`: of the
/// targets, whose work it is ordered with; unused on the way to host memory.
Result<Report> run_plan(const ReadPlan& plan, std::span<const Stream> streams, const Options& options);

}  // namespace penstock

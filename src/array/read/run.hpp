// Carries out the plan of a read.
#pragma once
#include "array/plan/plan.hpp"
#include "exec/job.hpp"
#include "penstock/array.hpp"

namespace penstock {

class ChunkFeed;

/// Reads into `targets`' memory what the plan says, by its budget, its workers and its choices.  `streams`: of the
/// targets, whose work it is ordered with; unused on the way to host memory.
Result<Report> run_plan(const ReadPlan& plan, std::span<const Stream> streams, const Options& options);

/// Decodes on the CPU into host memory what the feed gives, until it gives no more; called by each worker.
Status decode_to_host(const ReadPlan& plan, ChunkFeed& feed, Job& job);

/// An error of some chunks of a load: ends the read, with the object's name, or is noted in the report.
Status note_problem(const ReadPlan& plan, Job& job, const ChunkHolder& holder, const std::string& url,
                    const std::string& path, Error error);

}  // namespace penstock

// Decoding into host memory, and what becomes of chunks that cannot be read, whatever memory they were for.
#pragma once
#include "array/plan/plan.hpp"
#include "exec/job.hpp"

namespace penstock {

class ChunkFeed;

/// Decodes on the CPU into host memory what the feed gives, until it gives no more; called by each worker.
Status decode_to_host(const ReadPlan& plan, ChunkFeed& feed, Job& job);

/// An error of some chunks of a load: ends the read, with the object's name, or is noted in the report.
Status note_problem(const ReadPlan& plan, Job& job, const ChunkHolder& holder, const std::string& url,
                    const std::string& path, Error error);

}  // namespace penstock

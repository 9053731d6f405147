// How much memory a run will take, said before it tracks.
#pragma once
#include "tracto/run/session.hpp"

namespace penstock::tracto {

/// The most memory that the process has held until now.
std::uint64_t peak_process_bytes();

/// Of a session whose trackers are ready.  What streamlines take is measured on some of the seeds, tracked for that
/// alone.  Fewer seeds are in a chunk than was asked for where the budget would be passed.  Errors: cancelled.
Result<TrackPlan> plan_memory(Job& job, const Session& session);

}  // namespace penstock::tracto

// Chunks of seeds tracked by several trackers at once and taken in their order: one is written while the next is
// tracked.
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "tracto/run/chunk.hpp"

namespace penstock::tracto {

/// What of a run is tracked.
struct SeedRange {
  std::uint64_t first = 0, count = 0, chunk = 1;
};

/// Calls take(pieces, seeds) for each chunk, in the order of their numbers, from the calling thread.  At most one
/// chunk more than there are trackers is in memory.  Errors: the first in that order, or of `take`.
Status pump(Job& job, std::span<const std::unique_ptr<Tracker>> trackers, const SeedRange& seeds,
            const std::function<Status(std::vector<Streamlines>, std::uint64_t)>& take);

}  // namespace penstock::tracto

// Chunks of seeds tracked by several trackers at once, and taken in the order of their seeds: the points of one are
// written while others are tracked.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tracto/file/tractogram.hpp"
#include "tracto/run/chunk.hpp"

namespace penstock::tracto {

/// What of a run is tracked.
struct SeedRange {
  std::uint64_t first = 0, count = 0, chunk = 1;
};

/// Takes what is said of the streamlines of `seeds` seeds; where their points go.  Called for one chunk after the
/// other, in the order of their numbers.
using TakeChunk =
    std::function<Result<std::unique_ptr<PointSink>>(std::span<const Streamlines> pieces, std::uint64_t seeds)>;

/// As many chunks are under way as there are trackers; each brings its points to its sink beside the others.  `tell` is
/// called now and then by the calling thread, not while a chunk is taken.  Errors: the first in the order of chunks;
/// those before it have ended.
Status pump(Job& job, std::span<const std::unique_ptr<Tracker>> trackers, const SeedRange& seeds, const TakeChunk& take,
            const std::function<void()>& tell);

}  // namespace penstock::tracto

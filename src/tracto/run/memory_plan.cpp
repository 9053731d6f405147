#include "tracto/run/memory_plan.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/checked.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kProbes = 8, kProbeSeeds = 32;  // tracked to see how long streamlines are
constexpr std::uint64_t kProbeShare = 8;                // of all seeds at most this part
constexpr std::uint64_t kPieceBytes =
    sizeof(Streamlines) + std::uint64_t{5} * 16;  // with what malloc adds to its memory
constexpr std::uint64_t kWriterBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kWrittenBytes = 8 + 4;  // of a streamline, while its chunk is written: offset, length in mm

/// A row of /proc/self/status; 0 where it cannot be read.
std::uint64_t status_bytes(const char* row) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/status", "r"), &std::fclose);
  char line[256];
  while (file != nullptr && std::fgets(line, sizeof(line), file.get()) != nullptr)
    if (std::strncmp(line, row, std::strlen(row)) == 0)
      return std::strtoull(line + std::strlen(row), nullptr, 10) * 1024;
  return 0;
}

/// What a tracker holds in memory: the points only where they are not on a device.
std::uint64_t bytes_of(const std::vector<Streamlines>& pieces, bool points) {
  std::uint64_t bytes = 0;
  for (const Streamlines& s : pieces)
    bytes += kPieceBytes + (points ? s.points.size() * sizeof(Vec3) : 0) + s.lengths.size() * kStreamlineBytes;
  return bytes;
}

/// Of a seed, on average.
struct Yield {
  double bytes = 0;  ///< of its streamlines in memory
  double streamlines = 0;
};

/// Of some seeds here and there.  After it all that the first chunk takes once is taken, kernels among it.
Result<Yield> yield_of_seed(Job& job, const Session& session) {
  const std::uint64_t count = std::clamp<std::uint64_t>(session.seeds / kProbeShare / kProbes, 1, kProbeSeeds);
  Tracker& tracker = *session.trackers.front();
  std::uint64_t bytes = 0, streamlines = 0, seeds = 0;
  for (std::uint64_t probe = 0; probe < kProbes && seeds + count <= session.seeds; ++probe) {
    const std::uint64_t first = session.how.first_seed + session.seeds / kProbes * probe;
    PENSTOCK_ASSIGN(const std::vector<Streamlines> pieces, tracker.chunk(job, first, count));
    PENSTOCK_TRY(tracker.points(pieces, [](ByteView, PointType) -> Status { return {}; }));
    bytes += bytes_of(pieces, tracker.holds_points());
    for (const Streamlines& s : pieces) streamlines += s.lengths.size();
    seeds += count;
  }
  if (seeds == 0) return Yield{};
  const auto all = static_cast<double>(seeds);
  return Yield{static_cast<double>(bytes) / all, static_cast<double>(streamlines) / all};
}

/// What trackers and the writer work in, beside the streamlines.
std::uint64_t work_bytes(const Session& session, std::uint64_t chunk_seeds, double streamlines_of_seed) {
  const auto streamlines = static_cast<std::uint64_t>(streamlines_of_seed * static_cast<double>(chunk_seeds));
  const std::uint64_t chunks = div_up(session.seeds, chunk_seeds);
  std::uint64_t bytes = kWriterBytes + streamlines * (kStreamlineBytes + kWrittenBytes);
  for (std::size_t i = 0; i < session.trackers.size() && i < chunks; ++i)
    bytes += session.trackers[i]->work_bytes(chunk_seeds, streamlines);
  return bytes;
}

}  // namespace

// Not of getrusage, whose peak begins with what the process had that started this one.
std::uint64_t peak_process_bytes() { return status_bytes("VmHWM:"); }

Result<TrackPlan> plan_memory(Job& job, const Session& session) {
  TrackPlan plan;
  plan.seeds = session.seeds;
  PENSTOCK_ASSIGN(const Yield each, yield_of_seed(job, session));
  ::malloc_trim(0);                                      // what the fit has given back
  const std::uint64_t chunks = session.trackers.size();  // being tracked or written
  const std::uint64_t budget = session.plan.budget_bytes, held = status_bytes("VmRSS:");
  const std::uint64_t room = std::max(budget > held ? budget - held : 0, budget / 4);
  const double fit = each.bytes > 0 ? static_cast<double>(room) / static_cast<double>(chunks) / each.bytes : 1e12;
  plan.chunk_seeds =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(fit, 1e12)), 1, session.how.chunk_seeds);
  const std::uint64_t at_once = std::min(session.seeds, chunks * plan.chunk_seeds);
  plan.field_bytes = session.field.bytes();
  plan.streamline_bytes = static_cast<std::uint64_t>(each.bytes * static_cast<double>(at_once));
  plan.bytes = std::max(peak_process_bytes(),
                        held + plan.streamline_bytes + work_bytes(session, plan.chunk_seeds, each.streamlines));
  return plan;
}

}  // namespace penstock::tracto

#include "tracto/run/memory_plan.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kProbes = 8, kProbeSeeds = 32;  // tracked to see how long streamlines are
constexpr std::uint64_t kProbeShare = 8;                // of all seeds at most this part
constexpr std::uint64_t kPieceBytes =
    sizeof(Streamlines) + std::uint64_t{5} * 16;  // with what malloc adds to its memory
constexpr std::uint64_t kWriterBytes = std::uint64_t{1} << 20;

/// What the process holds now.
std::uint64_t process_bytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"), &std::fclose);
  unsigned long long all = 0, resident = 0;
  if (file == nullptr || std::fscanf(file.get(), "%llu %llu", &all, &resident) != 2) return peak_process_bytes();
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// What a tracker holds in memory: the points only where they are not on a device.
std::uint64_t bytes_of(const std::vector<Streamlines>& pieces, bool points) {
  std::uint64_t bytes = 0;
  for (const Streamlines& s : pieces)
    bytes += kPieceBytes + (points ? s.points.size() * sizeof(Vec3) : 0) + s.lengths.size() * kStreamlineBytes;
  return bytes;
}

/// Bytes that the streamlines of a seed take, on average over some seeds here and there.
Result<double> bytes_of_seed(Job& job, const Session& session) {
  const std::uint64_t count = std::clamp<std::uint64_t>(session.seeds / kProbeShare / kProbes, 1, kProbeSeeds);
  const auto tracker = std::move(cpu_trackers(session.field, 1).front());
  const bool points = std::ranges::any_of(session.trackers, [](const auto& t) { return t->holds_points(); });
  std::uint64_t bytes = 0, seeds = 0;
  for (std::uint64_t probe = 0; probe < kProbes && seeds + count <= session.seeds; ++probe) {
    const std::uint64_t first = session.how.first_seed + session.seeds / kProbes * probe;
    PENSTOCK_ASSIGN(const std::vector<Streamlines> pieces, tracker->chunk(job, first, count));
    bytes += bytes_of(pieces, points);
    seeds += count;
  }
  return seeds == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(seeds);
}

}  // namespace

std::uint64_t peak_process_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

Result<TrackPlan> plan_memory(Job& job, const Session& session) {
  TrackPlan plan;
  plan.seeds = session.seeds;
  PENSTOCK_ASSIGN(const double each, bytes_of_seed(job, session));
  ::malloc_trim(0);                                      // what the fit has given back
  const std::uint64_t chunks = session.trackers.size();  // being tracked or written
  const std::uint64_t budget = session.plan.budget_bytes, held = process_bytes();
  const std::uint64_t room = std::max(budget > held ? budget - held : 0, budget / 4);
  const double fit = each > 0 ? static_cast<double>(room) / static_cast<double>(chunks) / each : 1e12;
  plan.chunk_seeds =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(fit, 1e12)), 1, session.how.chunk_seeds);
  const std::uint64_t at_once = std::min(session.seeds, chunks * plan.chunk_seeds);
  plan.field_bytes = session.field.bytes();
  plan.streamline_bytes = static_cast<std::uint64_t>(each * static_cast<double>(at_once));
  plan.bytes = std::max(peak_process_bytes(), held + plan.streamline_bytes + kWriterBytes);
  return plan;
}

}  // namespace penstock::tracto

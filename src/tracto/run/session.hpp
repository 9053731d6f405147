// Everything that is ready to be tracked, on its devices.
#pragma once
#include "exec/budget.hpp"
#include "tracto/file/tractogram.hpp"
#include "tracto/run/field.hpp"
#include "tracto/run/pump.hpp"
#include "tracto/run/stages.hpp"

namespace penstock::tracto {

struct Session {
  TrackOptions how;
  BudgetPlan plan;
  std::string processors;  ///< for the report
  TrackSummary summary;
  Lap whole;
  ImageGrid grid;
  HostField field;
  std::vector<std::unique_ptr<Tracker>> trackers;
  std::uint64_t seeds = 0;
  TrackPlan memory;
  double planning_kernel_seconds = 0;  ///< of what was tracked for the plan alone
};

/// Reads, fits and uploads.  Errors: those of `track`.
Result<std::unique_ptr<Session>> begin_session(const std::string& dwi, const TrackOptions& how,
                                               const std::vector<Device>& devices, const Options& options);
/// What is said of the streamlines of a chunk, one behind the other.
struct ChunkColumns {
  std::vector<std::uint32_t> lengths;
  std::vector<std::array<float, 3>> seed_points;
  std::vector<std::uint64_t> seeds;
  std::vector<float> lengths_mm;
  std::vector<std::array<std::uint8_t, 2>> reasons;
};
/// Of the pieces of a chunk, which is counted in the summary, but for its seeds.
ChunkColumns count_chunk(Session& session, std::span<const Streamlines> pieces);
/// Tells who watches that so many seeds are done, and what came of them.
void tell_progress(const Session& session, std::uint64_t done_seeds, const Options& options);
/// Adds the last stages and totals to a summary that was counted.  `track_seconds`: of tracking.
void finish_summary(const Session& session, double track_seconds, TrackSummary& summary);

}  // namespace penstock::tracto

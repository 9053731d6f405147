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
};

/// Reads, fits and uploads.  Errors: those of `track`.
Result<std::unique_ptr<Session>> begin_session(const std::string& dwi, const TrackOptions& how,
                                               const std::vector<Device>& devices, const Options& options);
/// Counts a piece of a chunk in the summary, but for its seeds; the lengths of its streamlines.
std::vector<float> count_piece(Session& session, const Streamlines& piece);
/// Tells who watches that so many seeds are done, and what came of them.
void tell_progress(const Session& session, std::uint64_t done_seeds, const Options& options);
/// Adds the last stages and totals to a summary that was counted.  `track_seconds`: of tracking.
void finish_summary(const Session& session, double track_seconds, TrackSummary& summary);

/// The same numbers under another name.
std::span<const std::array<float, 3>> triples(const Points& points);

}  // namespace penstock::tracto

#include "core/guard.hpp"
#include "penstock/tracto.hpp"
#include "tracto/run/session.hpp"

namespace penstock {
namespace {

using namespace tracto;

/// Tracks all seeds into `file`.  With how.keep_partial a cancelled run is a success that says so.
Status track_all(Job& job, Session& session, const Options& options, TractogramWriter& file) {
  const TrackOptions& how = session.how;
  const auto take = [&](std::span<const Streamlines> pieces, std::uint64_t seeds) {
    const ChunkColumns c = count_chunk(session, pieces);
    session.summary.seeds += seeds;
    return file.begin({c.lengths, c.seed_points, c.seeds, c.lengths_mm, c.reasons});
  };
  const auto tell = [&] { tell_progress(session, session.summary.seeds, options); };
  const SeedRange seeds = {how.first_seed, session.seeds, session.memory.chunk_seeds};
  Status status = pump(job, session.trackers, seeds, take, tell);
  const bool stopped =
      !status && (status.error().code() == ErrorCode::cancelled || status.error().code() == ErrorCode::timed_out);
  if (!how.keep_partial || !stopped) return status;
  session.summary.cancelled = true;
  return {};
}

Result<TrackSummary> run(const std::string& dwi, const std::string& out, const TrackOptions& how,
                         const std::vector<Device>& devices, const Options& options) {
  PENSTOCK_TRY(check_tractogram_name(out, how.force, how.dtype));  // before anything is computed
  PENSTOCK_ASSIGN(const std::unique_ptr<Session> session, begin_session(dwi, how, devices, options));
  PENSTOCK_ASSIGN(const std::unique_ptr<TractogramWriter> file,
                  begin_tractogram(out, session->grid, {true, true, true}, how.force, how.dtype));
  Options quiet = options;
  quiet.progress = nullptr;
  Job job(quiet, "track", 0, session->plan.threads);
  Lap lap;
  PENSTOCK_TRY(track_all(job, *session, options, *file));
  finish_summary(*session, lap.seconds(), session->summary);
  TrackSummary& summary = session->summary;
  PENSTOCK_TRY(file->finish([&] { return how.keep_partial ? Status() : job.check(); }));
  summary.report.stages.push_back({"write", "file, " + std::string(file->format()),
                                   std::string(point_type_name(how.dtype)) +
                                       ", in the order of seeds; a chunk while the next is tracked, here the rest",
                                   summary.points * (how.dtype == PointType::float16 ? 6 : 12), lap.seconds()});
  summary.report.wall_seconds = session->whole.seconds();
  return summary;
}

}  // namespace

Result<TrackSummary> track(const std::string& dwi, const std::string& out, const TrackOptions& how,
                           const std::vector<Device>& devices, const Options& options) {
  return guarded([&] { return run(dwi, out, how, devices, options); });
}

Result<std::vector<std::array<double, 3>>> sphere_directions(std::uint32_t count) {
  return guarded([&]() -> Result<std::vector<std::array<double, 3>>> {
    PENSTOCK_ASSIGN(Sphere sphere, repulsion_sphere(count));
    return std::move(sphere.vertices);
  });
}

}  // namespace penstock

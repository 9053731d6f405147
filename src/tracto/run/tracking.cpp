// Tracking into memory.
#include <algorithm>
#include <cstring>

#include "core/guard.hpp"
#include "penstock/tracto.hpp"
#include "tracto/run/session.hpp"

namespace penstock {
namespace {

using namespace tracto;

void append(const Session& session, const Streamlines& piece, std::span<const float> lengths_mm,
            TrackedStreamlines& to) {
  const auto points = triples(piece.points), seeds = triples(piece.seed_points);
  to.points.insert(to.points.end(), points.begin(), points.end());
  for (const std::uint32_t length : piece.lengths) to.offsets.push_back(to.offsets.back() + length);
  to.seed_points.insert(to.seed_points.end(), seeds.begin(), seeds.end());
  to.seed_numbers.insert(to.seed_numbers.end(), piece.seeds.begin(), piece.seeds.end());
  to.lengths_mm.insert(to.lengths_mm.end(), lengths_mm.begin(), lengths_mm.end());
  for (std::size_t i = 0; i < piece.reasons.size(); i += 2)
    to.reasons.push_back({piece.reasons[i], piece.reasons[i + 1]});
  to.dims = session.grid.dims;
  to.world_from_voxel = session.grid.world_from_voxel;
}

Status check(const TrackedStreamlines& s) {
  const std::size_t n = s.offsets.empty() ? 0 : s.offsets.size() - 1;
  const bool ordered = !s.offsets.empty() && s.offsets.front() == 0 && s.offsets.back() == s.points.size() &&
                       std::is_sorted(s.offsets.begin(), s.offsets.end());
  if (!ordered) return Error(ErrorCode::invalid_argument, "offsets: must rise from 0 to the number of points");
  if (s.seed_points.size() != n || s.seed_numbers.size() != n || s.lengths_mm.size() != n || s.reasons.size() != n)
    return Error(ErrorCode::invalid_argument, "what is said of each streamline: must be as many as there are");
  return {};
}

}  // namespace

struct Tracking::State {
  std::unique_ptr<Session> session;
  std::uint64_t done = 0;  // seeds
  std::size_t turn = 0;    // of the devices
  double seconds = 0;
};

Tracking::Tracking(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracking::Tracking(Tracking&&) noexcept = default;
Tracking& Tracking::operator=(Tracking&&) noexcept = default;
Tracking::~Tracking() = default;

Result<Tracking> Tracking::begin(const std::string& dwi, const TrackOptions& how, const std::vector<Device>& devices,
                                 const Options& options) {
  return guarded([&]() -> Result<Tracking> {
    auto state = std::make_unique<State>();
    PENSTOCK_ASSIGN(state->session, begin_session(dwi, how, devices, options));
    return Tracking(std::move(state));
  });
}

Result<std::optional<TrackedStreamlines>> Tracking::next(const Options& options) {
  return guarded([&]() -> Result<std::optional<TrackedStreamlines>> {
    Session& session = *state_->session;
    if (state_->done == session.seeds) return std::optional<TrackedStreamlines>();
    Lap lap;
    Job job(options, "track", 0, session.plan.threads);
    const std::uint64_t count = std::min(session.memory.chunk_seeds, session.seeds - state_->done);
    Tracker& tracker = *session.trackers[state_->turn++ % session.trackers.size()];
    PENSTOCK_ASSIGN(const auto pieces, tracker.chunk(job, session.how.first_seed + state_->done, count));
    state_->done += count;
    session.summary.seeds += count;
    TrackedStreamlines out;
    for (const Streamlines& piece : pieces) append(session, piece, count_piece(session, piece), out);
    state_->seconds += lap.seconds();
    return std::optional(std::move(out));
  });
}

Result<TrackedStreamlines> Tracking::rest(const Options& options) {
  return guarded([&]() -> Result<TrackedStreamlines> {
    Session& session = *state_->session;
    Options quiet = options;
    quiet.progress = nullptr;
    Lap lap;
    Job job(quiet, "track", 0, session.plan.threads);
    TrackedStreamlines out;
    out.dims = session.grid.dims;
    out.world_from_voxel = session.grid.world_from_voxel;
    const auto take = [&](std::vector<Streamlines> pieces, std::uint64_t seeds) -> Status {
      for (Streamlines& piece : pieces) {
        append(session, piece, count_piece(session, piece), out);
        piece = {};
      }
      session.summary.seeds += seeds;
      state_->done += seeds;
      tell_progress(session, state_->done, options);
      return {};
    };
    const SeedRange seeds{session.how.first_seed + state_->done, session.seeds - state_->done,
                          session.memory.chunk_seeds};
    PENSTOCK_TRY(pump(job, session.trackers, seeds, take));
    state_->seconds += lap.seconds();
    return out;
  });
}

TrackSummary Tracking::summary() const {
  TrackSummary summary = state_->session->summary;
  finish_summary(*state_->session, state_->seconds, summary);
  return summary;
}

Status save_streamlines(const TrackedStreamlines& s, const std::string& path, Replace replace) {
  return guarded([&]() -> Status {
    PENSTOCK_TRY(check(s));
    PENSTOCK_ASSIGN(const auto file,
                    begin_tractogram(path, {s.dims, s.world_from_voxel}, {true, true, true}, replace == Replace::yes));
    std::vector<std::uint32_t> lengths;
    for (std::size_t i = 1; i < s.offsets.size(); ++i)
      lengths.push_back(static_cast<std::uint32_t>(s.offsets[i] - s.offsets[i - 1]));
    PENSTOCK_TRY(file->append({s.points, lengths, s.seed_points, s.seed_numbers, s.lengths_mm, s.reasons}));
    return file->finish([] { return Status(); });
  });
}

}  // namespace penstock

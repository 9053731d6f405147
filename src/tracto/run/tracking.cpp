// Tracking into memory.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <shared_mutex>

#include "core/guard.hpp"
#include "penstock/tracto.hpp"
#include "tracto/run/session.hpp"

namespace penstock {
namespace {

using namespace tracto;

/// Streamlines in memory that grow by chunks, whose points come beside each other.
class MemorySink {
 public:
  explicit MemorySink(Session& session) : session_(session) {
    out_.dims = session.grid.dims;
    out_.world_from_voxel = session.grid.world_from_voxel;
  }

  /// Makes room for a chunk.
  std::unique_ptr<PointSink> begin(std::span<const Streamlines> pieces) {
    const ChunkColumns c = count_chunk(session_, pieces);
    const std::uint64_t first = out_.offsets.back();
    for (const std::uint32_t length : c.lengths) out_.offsets.push_back(out_.offsets.back() + length);
    out_.seed_points.insert(out_.seed_points.end(), c.seed_points.begin(), c.seed_points.end());
    out_.seed_numbers.insert(out_.seed_numbers.end(), c.seeds.begin(), c.seeds.end());
    out_.lengths_mm.insert(out_.lengths_mm.end(), c.lengths_mm.begin(), c.lengths_mm.end());
    out_.reasons.insert(out_.reasons.end(), c.reasons.begin(), c.reasons.end());
    const std::unique_lock lock(moving_);
    out_.points.resize(out_.offsets.back());
    return std::make_unique<Chunk>(*this, first);
  }
  TrackedStreamlines take() && { return std::move(out_); }

 private:
  class Chunk final : public PointSink {
   public:
    Chunk(MemorySink& all, std::uint64_t at) : all_(all), at_(at) {}
    Status write(ByteView points, PointType) override {
      if (points.empty()) return {};
      const std::shared_lock lock(all_.moving_);
      std::memcpy(all_.out_.points.data() + at_, points.data(), points.size());
      at_ += points.size() / sizeof all_.out_.points[0];
      return {};
    }
    Status end() override { return {}; }

   private:
    MemorySink& all_;
    std::uint64_t at_;
  };

  Session& session_;
  TrackedStreamlines out_;
  std::shared_mutex moving_;  ///< whole while the points may move
};

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
    TrackOptions in_memory = how;
    in_memory.dtype = PointType::float32;
    PENSTOCK_ASSIGN(state->session, begin_session(dwi, in_memory, devices, options));
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
    MemorySink out(session);
    const std::unique_ptr<PointSink> sink = out.begin(pieces);
    PENSTOCK_TRY(tracker.points(pieces, [&](ByteView points, PointType type) { return sink->write(points, type); }));
    state_->seconds += lap.seconds();
    return std::optional(std::move(out).take());
  });
}

Result<TrackedStreamlines> Tracking::rest(const Options& options) {
  return guarded([&]() -> Result<TrackedStreamlines> {
    Session& session = *state_->session;
    Options quiet = options;
    quiet.progress = nullptr;
    Lap lap;
    Job job(quiet, "track", 0, session.plan.threads);
    MemorySink out(session);
    const auto take = [&](std::span<const Streamlines> pieces, std::uint64_t seeds) {
      session.summary.seeds += seeds;
      state_->done += seeds;
      return Result<std::unique_ptr<PointSink>>(out.begin(pieces));
    };
    const auto tell = [&] { tell_progress(session, state_->done, options); };
    const SeedRange seeds{session.how.first_seed + state_->done, session.seeds - state_->done,
                          session.memory.chunk_seeds};
    PENSTOCK_TRY(pump(job, session.trackers, seeds, take, tell));
    state_->seconds += lap.seconds();
    return std::move(out).take();
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
    PENSTOCK_TRY(file->append({lengths, s.seed_points, s.seed_numbers, s.lengths_mm, s.reasons}, s.points));
    return file->finish([] { return Status(); });
  });
}

}  // namespace penstock

#include <algorithm>
#include <mutex>

#include "core/checked.hpp"
#include "device/team.hpp"
#include "tracto/clones.hpp"
#include "tracto/run/chunk.hpp"
#include "tracto/step/list.hpp"

namespace penstock::tracto {
namespace {

/// Seeds of one task: of the bootstrap one takes milliseconds, of parallel transport tens of them.
std::uint64_t block_seeds(TrackMethod method) {
  if (method == TrackMethod::ptt) return 1;
  return method == TrackMethod::boot ? 4 : 32;
}

constexpr std::size_t kPiecePoints = 1 << 15;  // that are handed out at a time

/// All streamlines of one seed, behind those of `out`.
template <class Step, class Scratch>
void track_seed(const HostField& field, std::uint64_t number, Scratch& scratch, std::vector<Vec3>& slot,
                Streamlines& out) {
  const HostTeam<32> team;
  const TrackParams& t = field.params;
  const TrackBuffers in = field.buffers();
  const Vec3 seed = seed_point(field.seed_params, field.seed_list.data(), number);
  Corners corners = {};
  if (stop_at(t, in, seed, corners) != EndReason::on) return;
  const DrawKey begin = {{t.random_seed[0], t.random_seed[1]}, number, 0, kBeginHalf};
  const Peaks peaks = Step::start(team, t, in, corners, scratch, begin);
  for (std::uint32_t p = 0; p < peaks.count; ++p) {
    const DrawKey key = {{t.random_seed[0], t.random_seed[1]}, number, p, 0};
    const Vec3 direction = vertex(t, in, peaks.direction[p]);
    const Followed f = follow<Step>(team, t, in, scratch, key, seed, corners, direction, slot.data());
    const std::uint32_t n = f.forward + f.backward;
    if (n < field.min_points) {
      ++out.too_short;
      continue;
    }
    for (std::uint32_t i = 0; i < n; ++i) out.points.push_back(world_point(t, f, slot.data(), i));
    out.lengths.push_back(n);
    out.seeds.push_back(number);
    out.seed_points.push_back(world_point(t, f, slot.data(), f.backward));
    out.reasons.insert(out.reasons.end(), {f.reason[0], f.reason[1]});
  }
}

template <class Step, class Scratch>
PENSTOCK_CLONES void track_one(const HostField& field, std::uint64_t number, Scratch& scratch, std::vector<Vec3>& slot,
                               Streamlines& out) {
  track_seed<Step>(field, number, scratch, slot, out);
}

class CpuTracker final : public Tracker {
 public:
  CpuTracker(const HostField& field, std::shared_ptr<std::mutex> turn) : field_(field), turn_(std::move(turn)) {}

  Result<std::vector<Streamlines>> chunk(Job& job, std::uint64_t first, std::uint64_t count) override {
    const std::uint64_t each = block_seeds(field_.method), blocks = div_up(count, each);
    std::vector<Streamlines> parts(blocks);
    const std::scoped_lock lock(*turn_);
    PENSTOCK_TRY(job.run([&] {
      return job.for_each(blocks, true, [&](std::uint64_t block) -> Status {
        static thread_local Streamlines made;  // grows once
        static thread_local std::vector<Vec3> slot;
        made.clear();
        slot.resize(field_.params.max_points);
        with_step(field_.method, [&]<class Step>(Step) {
          typename Step::template ScratchOf<kMaxAmplitudes> scratch;
          for (std::uint64_t i = block * each; i < std::min(count, (block + 1) * each); ++i)
            track_one<Step>(field_, first + i, scratch, slot, made);
        });
        parts[block] = made;  // as large as it must be
        return {};
      });
    }));
    return parts;
  }

 private:
  const HostField& field_;
  std::shared_ptr<std::mutex> turn_;
};

}  // namespace

Status Tracker::points(std::span<const Streamlines> pieces, const TakePoints& take) {
  Points some;
  for (const Streamlines& piece : pieces) {
    some.insert(some.end(), piece.points.begin(), piece.points.end());
    if (some.size() < kPiecePoints && &piece != &pieces.back()) continue;
    PENSTOCK_TRY(take(std::as_bytes(std::span(some)), PointType::float32));
    some.clear();
  }
  return {};
}

void Streamlines::append(const Streamlines& more) {
  points.insert(points.end(), more.points.begin(), more.points.end());
  lengths.insert(lengths.end(), more.lengths.begin(), more.lengths.end());
  seeds.insert(seeds.end(), more.seeds.begin(), more.seeds.end());
  seed_points.insert(seed_points.end(), more.seed_points.begin(), more.seed_points.end());
  reasons.insert(reasons.end(), more.reasons.begin(), more.reasons.end());
  too_short += more.too_short;
}

void Streamlines::clear() {
  points.clear();
  lengths.clear();
  seeds.clear();
  seed_points.clear();
  reasons.clear();
  too_short = 0;
}

std::vector<std::unique_ptr<Tracker>> cpu_trackers(const HostField& field, std::size_t count) {
  const auto turn = std::make_shared<std::mutex>();
  std::vector<std::unique_ptr<Tracker>> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(std::make_unique<CpuTracker>(field, turn));
  return out;
}

}  // namespace penstock::tracto

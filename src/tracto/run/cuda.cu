#include <algorithm>

#include "device/cuda/launch.cuh"
#include "device/cuda/team_launch.cuh"
#include "tracto/run/chunk.hpp"
#include "tracto/step/list.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint32_t kSmallDirections = 384;
constexpr std::uint64_t kSlotBytes = std::uint64_t{1} << 30;  // of all slots under way

/// A seed's directions to begin with; none where its place is not tracked.
template <class Step>
struct StartSeeds {
  TrackParams params;
  SeedParams seeds;
  TrackBuffers in;
  const std::uint32_t* seed_voxels;
  std::uint64_t first;
  Peaks* out;

  template <class Team, class Scratch>
  __device__ void operator()(const Team& team, std::uint32_t i, Scratch& scratch) const {
    const Vec3 seed = seed_point(seeds, seed_voxels, first + i);
    Corners corners;
    Peaks peaks = {};
    const DrawKey key = {{params.random_seed[0], params.random_seed[1]}, first + i, 0, kBeginHalf};
    if (stop_at(params, in, seed, corners) == EndReason::on)
      peaks = Step::start(team, params, in, corners, scratch, key);
    team.each_lane([&](std::uint32_t lane) {
      if (lane == 0) out[i] = peaks;
    });
  }
};

/// A seed and one of its directions.
struct Task {
  std::uint32_t seed;  // counted from the first of the chunk
  std::uint16_t peak, direction;
};

template <class Step>
struct FollowTasks {
  TrackParams params;
  SeedParams seeds;
  TrackBuffers in;
  const std::uint32_t* seed_voxels;
  std::uint64_t first;
  const Task* tasks;
  Vec3* slots;
  Followed* out;

  template <class Team, class Scratch>
  __device__ void operator()(const Team& team, std::uint32_t i, Scratch& scratch) const {
    const Task task = tasks[i];
    const std::uint64_t number = first + task.seed;
    const Vec3 seed = seed_point(seeds, seed_voxels, number);
    const Corners corners = corners_of(params, seed);
    const DrawKey key = {{params.random_seed[0], params.random_seed[1]}, number, task.peak, 0};
    const Followed f = follow<Step>(team, params, in, scratch, key, seed, corners, vertex(params, in, task.direction),
                                    slots + static_cast<std::uint64_t>(i) * params.max_points);
    team.each_lane([&](std::uint32_t lane) {
      if (lane == 0) out[i] = f;
    });
  }
};

/// A streamline that is kept: where it stands, and where its points go.
struct Kept {
  std::uint32_t task;
  std::uint64_t offset;
  Followed followed;
};

struct NoScratch {};
struct Compact {
  TrackParams params;
  const Kept* kept;
  const Vec3* slots;
  Vec3* points;
  Vec3* seed_points;

  template <class Team, class Scratch>
  __device__ void operator()(const Team& team, std::uint32_t i, Scratch&) const {
    const Kept k = kept[i];
    const Vec3* slot = slots + static_cast<std::uint64_t>(k.task) * params.max_points;
    team.for_each(k.followed.forward + k.followed.backward, [&](std::uint32_t p) {
      const Vec3 point = world_point(params, k.followed, slot, p);
      points[k.offset + p] = point;
      if (p == k.followed.backward) seed_points[i] = point;
    });
  }
};

/// Device memory that holds what fits, and grows.
class Room {
 public:
  template <class T>
  Result<T*> of(Memory& memory, std::uint64_t n, const Stream& stream) {
    const std::uint64_t bytes = std::max<std::uint64_t>(n, 1) * sizeof(T);
    if (buffer_.size() < bytes) {
      buffer_ = Buffer();
      PENSTOCK_ASSIGN(buffer_, memory.allocate(bytes, 256, stream));
    }
    return reinterpret_cast<T*>(buffer_.data());
  }

 private:
  Buffer buffer_;
};

class CudaTracker final : public Tracker {
 public:
  CudaTracker(const HostField& field, Device device) : field_(field), device_(device) {}

  Status begin() {
    PENSTOCK_ASSIGN(stream_, Stream::create(device_));
    PENSTOCK_ASSIGN(memory_, Memory::create(device_, 0));
    PENSTOCK_ASSIGN(in_.row, upload(field_.row));
    PENSTOCK_ASSIGN(in_.pmf, upload(field_.pmf));
    PENSTOCK_ASSIGN(in_.scale, upload(field_.scale));
    PENSTOCK_ASSIGN(in_.stop, upload(field_.stop));
    PENSTOCK_ASSIGN(in_.vertex, upload(field_.vertices));
    PENSTOCK_ASSIGN(in_.neighbour, upload(field_.neighbours));
    PENSTOCK_ASSIGN(in_.signal, upload(field_.signal));
    PENSTOCK_ASSIGN(in_.fit, upload(field_.fit));
    PENSTOCK_ASSIGN(in_.nearest, upload(field_.nearest));
    PENSTOCK_ASSIGN(in_.disc, upload(field_.disc));
    PENSTOCK_ASSIGN(in_.triangle, upload(field_.triangle));
    PENSTOCK_ASSIGN(seed_voxels_, upload(field_.seed_list));
    PENSTOCK_ASSIGN(next_, counter_.of<std::uint32_t>(*memory_, 1, stream_));
    return stream_.synchronize();
  }

  Result<Streamlines> chunk(Job& job, std::uint64_t first, std::uint64_t count) override {
    PENSTOCK_ASSIGN(Peaks* const peaks_device, peaks_.of<Peaks>(*memory_, count, stream_));
    PENSTOCK_TRY(with_step(field_.method, [&]<class Step>(Step) {
      return launch<Step>(static_cast<std::uint32_t>(count),
                          StartSeeds<Step>{field_.params, field_.seed_params, in_, seed_voxels_, first, peaks_device});
    }));
    std::vector<Peaks> peaks(count);
    PENSTOCK_TRY(download(peaks.data(), peaks_device, count));
    std::vector<Task> tasks;
    for (std::uint32_t s = 0; s < count; ++s)
      for (std::uint16_t p = 0; p < peaks[s].count; ++p) tasks.push_back({s, p, peaks[s].direction[p]});
    const std::uint64_t slot = sizeof(Vec3) * field_.params.max_points;
    const std::uint64_t batch = std::max<std::uint64_t>(kSlotBytes / slot, 1);
    Streamlines all;
    for (std::uint64_t at = 0; at < tasks.size(); at += batch) {
      PENSTOCK_TRY(job.check());
      const auto part = std::span(tasks).subspan(at, std::min<std::uint64_t>(batch, tasks.size() - at));
      PENSTOCK_TRY(follow_tasks(first, part, all));
    }
    return all;
  }

  [[nodiscard]] std::uint64_t peak_device_bytes() const override { return memory_->peak_bytes(); }

 private:
  template <class T>
  Result<const T*> upload(const std::vector<T>& from) {
    const std::uint64_t bytes = from.size() * sizeof(T);
    PENSTOCK_ASSIGN(Buffer buffer, memory_->allocate(std::max<std::uint64_t>(bytes, 1), 256, stream_));
    PENSTOCK_TRY(copy_async(buffer.data(), device_, from.data(), {}, bytes, stream_));
    buffers_.push_back(std::move(buffer));
    return reinterpret_cast<const T*>(buffers_.back().data());
  }
  template <class T>
  Status download(T* to, const T* from, std::uint64_t n) {
    PENSTOCK_TRY(copy_async(to, {}, from, device_, n * sizeof(T), stream_));
    return stream_.synchronize();
  }
  template <class Step, class F>
  Status launch(std::uint32_t n, const F& f) {
    if (field_.params.directions <= kSmallDirections)
      return launch_teams_cuda<typename Step::template ScratchOf<kSmallDirections>>(stream_, n, next_, f);
    return launch_teams_cuda<typename Step::template ScratchOf<kMaxAmplitudes>>(stream_, n, next_, f);
  }

  /// Tracks tasks and appends those that are long enough.
  Status follow_tasks(std::uint64_t first, std::span<const Task> tasks, Streamlines& all) {
    const auto n = static_cast<std::uint32_t>(tasks.size());
    PENSTOCK_ASSIGN(Task* const tasks_device, tasks_.of<Task>(*memory_, n, stream_));
    PENSTOCK_ASSIGN(Vec3* const slots, slots_.of<Vec3>(*memory_, std::uint64_t{n} * field_.params.max_points, stream_));
    PENSTOCK_ASSIGN(Followed* const followed_device, followed_.of<Followed>(*memory_, n, stream_));
    PENSTOCK_TRY(copy_async(tasks_device, device_, tasks.data(), {}, tasks.size_bytes(), stream_));
    PENSTOCK_TRY(with_step(field_.method, [&]<class Step>(Step) {
      return launch<Step>(n, FollowTasks<Step>{field_.params, field_.seed_params, in_, seed_voxels_, first,
                                               tasks_device, slots, followed_device});
    }));
    std::vector<Followed> followed(n);
    PENSTOCK_TRY(download(followed.data(), followed_device, n));
    std::vector<Kept> kept;
    std::uint64_t points = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t length = followed[i].forward + followed[i].backward;
      if (length < field_.min_points) {
        ++all.too_short;
        continue;
      }
      kept.push_back({i, points, followed[i]});
      points += length;
      all.lengths.push_back(length);
      all.seeds.push_back(first + tasks[i].seed);
      all.reasons.insert(all.reasons.end(), {followed[i].reason[0], followed[i].reason[1]});
    }
    PENSTOCK_ASSIGN(Kept* const kept_device, kept_.of<Kept>(*memory_, kept.size(), stream_));
    PENSTOCK_ASSIGN(Vec3* const points_device, points_.of<Vec3>(*memory_, points, stream_));
    PENSTOCK_ASSIGN(Vec3* const seeds_device, seed_points_.of<Vec3>(*memory_, kept.size(), stream_));
    PENSTOCK_TRY(copy_async(kept_device, device_, kept.data(), {}, kept.size() * sizeof(Kept), stream_));
    const Compact compact{field_.params, kept_device, slots, points_device, seeds_device};
    PENSTOCK_TRY(launch_teams_cuda<NoScratch>(stream_, static_cast<std::uint32_t>(kept.size()), next_, compact));
    const std::size_t points_before = all.points.size(), seeds_before = all.seed_points.size();
    all.points.resize(points_before + points);
    all.seed_points.resize(seeds_before + kept.size());
    PENSTOCK_TRY(download(all.points.data() + points_before, points_device, points));
    return download(all.seed_points.data() + seeds_before, seeds_device, kept.size());
  }

  const HostField& field_;
  Device device_;
  Stream stream_;
  std::shared_ptr<Memory> memory_;
  std::vector<Buffer> buffers_;
  TrackBuffers in_ = {};
  const std::uint32_t* seed_voxels_ = nullptr;
  std::uint32_t* next_ = nullptr;
  Room counter_, peaks_, tasks_, slots_, followed_, kept_, points_, seed_points_;
};

}  // namespace

Result<std::unique_ptr<Tracker>> cuda_tracker(const HostField& field, Device device) {
  auto tracker = std::make_unique<CudaTracker>(field, device);
  PENSTOCK_TRY(tracker->begin());
  return std::unique_ptr<Tracker>(std::move(tracker));
}

}  // namespace penstock::tracto

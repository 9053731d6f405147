#include <algorithm>
#include <chrono>
#include <mutex>

#include "device/cuda/launch.cuh"
#include "device/cuda/team_launch.cuh"
#include "tracto/run/chunk.hpp"
#include "tracto/step/list.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint32_t kSmallDirections = 384;
constexpr std::uint64_t kSlotBytes = std::uint64_t{1} << 29;  // of all slots that a tracker has under way

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

/// A field on a device, and what its trackers share.
class DeviceField {
 public:
  Status begin(const HostField& field, Device device) {
    device_ = device;
    PENSTOCK_ASSIGN(stream_, Stream::create(device));
    PENSTOCK_ASSIGN(memory_, Memory::create(device, 0));
    PENSTOCK_ASSIGN(in_.row, upload(field.row));
    PENSTOCK_ASSIGN(in_.pmf, upload(field.pmf));
    PENSTOCK_ASSIGN(in_.scale, upload(field.scale));
    PENSTOCK_ASSIGN(in_.stop, upload(field.stop));
    PENSTOCK_ASSIGN(in_.vertex, upload(field.vertices));
    PENSTOCK_ASSIGN(in_.neighbour, upload(field.neighbours));
    PENSTOCK_ASSIGN(in_.signal, upload(field.signal));
    PENSTOCK_ASSIGN(in_.fit, upload(field.fit));
    PENSTOCK_ASSIGN(in_.nearest, upload(field.nearest));
    PENSTOCK_ASSIGN(in_.disc, upload(field.disc));
    PENSTOCK_ASSIGN(in_.triangle, upload(field.triangle));
    PENSTOCK_ASSIGN(seed_voxels_, upload(field.seed_list));
    return stream_.synchronize();
  }
  [[nodiscard]] const TrackBuffers& buffers() const { return in_; }
  [[nodiscard]] const std::uint32_t* seed_voxels() const { return seed_voxels_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }

  /// Runs kernels that `start` puts into `stream`, and waits for them.  Those of one tracker at a time: they fill the
  /// device, and so what they take can be told.
  template <class Start>
  Status run(const Stream& stream, const Start& start) {
    const std::scoped_lock lock(mutex_);
    const auto begin = std::chrono::steady_clock::now();
    PENSTOCK_TRY(start());
    PENSTOCK_TRY(stream.synchronize());
    kernel_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return {};
  }
  [[nodiscard]] double kernel_seconds() const {
    const std::scoped_lock lock(mutex_);
    return kernel_seconds_;
  }

 private:
  template <class T>
  Result<const T*> upload(const std::vector<T>& from) {
    const std::uint64_t bytes = from.size() * sizeof(T);
    PENSTOCK_ASSIGN(Buffer buffer, memory_->allocate(std::max<std::uint64_t>(bytes, 1), 256, stream_));
    PENSTOCK_TRY(copy_async(buffer.data(), device_, from.data(), {}, bytes, stream_));
    buffers_.push_back(std::move(buffer));
    return reinterpret_cast<const T*>(buffers_.back().data());
  }
  Device device_;
  Stream stream_;
  std::shared_ptr<Memory> memory_;
  std::vector<Buffer> buffers_;
  TrackBuffers in_ = {};
  const std::uint32_t* seed_voxels_ = nullptr;
  mutable std::mutex mutex_;
  double kernel_seconds_ = 0;
};

class CudaTracker final : public Tracker {
 public:
  CudaTracker(const HostField& field, std::shared_ptr<DeviceField> on, Device device)
      : field_(field), on_(std::move(on)), device_(device) {}

  Status begin() {
    PENSTOCK_ASSIGN(stream_, Stream::create(device_));
    PENSTOCK_ASSIGN(next_, counter_.of<std::uint32_t>(on_->memory(), 1, stream_));
    return stream_.synchronize();
  }

  Result<std::vector<Streamlines>> chunk(Job& job, std::uint64_t first, std::uint64_t count) override {
    PENSTOCK_ASSIGN(Peaks* const peaks_device, peaks_.of<Peaks>(on_->memory(), count, stream_));
    PENSTOCK_TRY(on_->run(stream_, [&] {
      return with_step(field_.method, [&]<class Step>(Step) {
        return launch<Step>(static_cast<std::uint32_t>(count),
                            StartSeeds<Step>{field_.params, field_.seed_params, on_->buffers(), on_->seed_voxels(),
                                             first, peaks_device});
      });
    }));
    std::vector<Peaks> peaks(count);
    PENSTOCK_TRY(download(peaks.data(), peaks_device, count));
    std::vector<Task> tasks;
    for (std::uint32_t s = 0; s < count; ++s)
      for (std::uint16_t p = 0; p < peaks[s].count; ++p) tasks.push_back({s, p, peaks[s].direction[p]});
    const std::uint64_t slot = sizeof(Vec3) * field_.params.max_points;
    const std::uint64_t batch = std::max<std::uint64_t>(kSlotBytes / slot, 1);
    std::vector<Streamlines> pieces;
    for (std::uint64_t at = 0; at < tasks.size(); at += batch) {
      PENSTOCK_TRY(job.check());
      const auto part = std::span(tasks).subspan(at, std::min<std::uint64_t>(batch, tasks.size() - at));
      PENSTOCK_TRY(follow_tasks(first, part, pieces.emplace_back()));
    }
    return pieces;
  }

  [[nodiscard]] std::uint64_t peak_device_bytes() const override { return on_->memory().peak_bytes(); }
  [[nodiscard]] double kernel_seconds() const override { return on_->kernel_seconds(); }

 private:
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
    PENSTOCK_ASSIGN(Task* const tasks_device, tasks_.of<Task>(on_->memory(), n, stream_));
    PENSTOCK_ASSIGN(Vec3* const slots,
                    slots_.of<Vec3>(on_->memory(), std::uint64_t{n} * field_.params.max_points, stream_));
    PENSTOCK_ASSIGN(Followed* const followed_device, followed_.of<Followed>(on_->memory(), n, stream_));
    PENSTOCK_TRY(copy_async(tasks_device, device_, tasks.data(), {}, tasks.size_bytes(), stream_));
    PENSTOCK_TRY(stream_.synchronize());  // only kernels are counted as kernels
    PENSTOCK_TRY(on_->run(stream_, [&] {
      return with_step(field_.method, [&]<class Step>(Step) {
        return launch<Step>(n, FollowTasks<Step>{field_.params, field_.seed_params, on_->buffers(), on_->seed_voxels(),
                                                 first, tasks_device, slots, followed_device});
      });
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
    PENSTOCK_ASSIGN(Kept* const kept_device, kept_.of<Kept>(on_->memory(), kept.size(), stream_));
    PENSTOCK_ASSIGN(Vec3* const points_device, points_.of<Vec3>(on_->memory(), points, stream_));
    PENSTOCK_ASSIGN(Vec3* const seeds_device, seed_points_.of<Vec3>(on_->memory(), kept.size(), stream_));
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
  std::shared_ptr<DeviceField> on_;
  Device device_;
  Stream stream_;
  std::uint32_t* next_ = nullptr;
  Room counter_, peaks_, tasks_, slots_, followed_, kept_, points_, seed_points_;
};

}  // namespace

Result<std::vector<std::unique_ptr<Tracker>>> cuda_trackers(const HostField& field, Device device, std::size_t count) {
  auto on = std::make_shared<DeviceField>();
  PENSTOCK_TRY(on->begin(field, device));
  std::vector<std::unique_ptr<Tracker>> out;
  for (std::size_t i = 0; i < count; ++i) {
    auto tracker = std::make_unique<CudaTracker>(field, on, device);
    PENSTOCK_TRY(tracker->begin());
    out.emplace_back(std::move(tracker));
  }
  return Result<std::vector<std::unique_ptr<Tracker>>>(std::move(out));
}

}  // namespace penstock::tracto

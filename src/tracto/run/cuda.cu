#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <utility>

#include "device/cuda/half.cuh"
#include "device/cuda/launch.cuh"
#include "device/cuda/team_launch.cuh"
#include "device/pinned_ring.hpp"
#include "tracto/run/chunk.hpp"
#include "tracto/step/list.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint32_t kSmallDirections = 384;
constexpr std::uint64_t kSlotBytes = std::uint64_t{1} << 28;   // of all slots that a tracker has under way
constexpr std::uint64_t kPieceBytes = std::uint64_t{3} << 20;  // of points that come down at a time
constexpr std::uint64_t kWholePoints = 12;                     // bytes of them are a multiple of this

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

/// Number is float, or CudaHalf: rounded to the nearest, as the CPU does.
template <class Number>
struct Compact {
  TrackParams params;
  const Kept* kept;
  const Vec3* slots;
  Number* points;
  Vec3* seed_points;

  template <class Team, class Scratch>
  __device__ void operator()(const Team& team, std::uint32_t i, Scratch&) const {
    const Kept k = kept[i];
    const Vec3* slot = slots + static_cast<std::uint64_t>(k.task) * params.max_points;
    team.for_each(k.followed.forward + k.followed.backward, [&](std::uint32_t p) {
      const Vec3 point = world_point(params, k.followed, slot, p);
      Number* const to = points + 3 * (k.offset + p);
      to[0] = static_cast<Number>(point.x);
      to[1] = static_cast<Number>(point.y);
      to[2] = static_cast<Number>(point.z);
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

  /// Runs kernels that `start` puts into `stream`, and waits for them.  Those of several trackers run beside each
  /// other: where the last streamlines of one leave room, those of the next begin.
  template <class Start>
  Status run(const Stream& stream, const Start& start) {
    busy(1);
    Status status = start();
    if (status) status = stream.synchronize();
    busy(-1);
    return status;
  }
  /// While those of any tracker ran.
  [[nodiscard]] double kernel_seconds() const {
    const std::scoped_lock lock(mutex_);
    return kernel_seconds_;
  }

 private:
  template <class T, class A>
  Result<const T*> upload(const std::vector<T, A>& from) {
    const std::uint64_t bytes = from.size() * sizeof(T);
    PENSTOCK_ASSIGN(Buffer buffer, memory_->allocate(std::max<std::uint64_t>(bytes, 1), 256, stream_));
    PENSTOCK_TRY(copy_async(buffer.data(), device_, from.data(), {}, bytes, stream_));
    buffers_.push_back(std::move(buffer));
    return reinterpret_cast<const T*>(buffers_.back().data());
  }
  void busy(int change) {
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(mutex_);
    if (running_ > 0) kernel_seconds_ += std::chrono::duration<double>(now - since_).count();
    running_ += change;
    since_ = now;
  }
  Device device_;
  Stream stream_;
  std::shared_ptr<Memory> memory_;
  std::vector<Buffer> buffers_;
  TrackBuffers in_ = {};
  const std::uint32_t* seed_voxels_ = nullptr;
  mutable std::mutex mutex_;
  int running_ = 0;  ///< trackers whose kernels run
  std::chrono::steady_clock::time_point since_;
  double kernel_seconds_ = 0;
};

class CudaTracker final : public Tracker {
 public:
  CudaTracker(const HostField& field, std::shared_ptr<DeviceField> on, Device device)
      : field_(field), on_(std::move(on)), device_(device) {}

  Status begin() {
    PENSTOCK_ASSIGN(stream_, Stream::create(device_));
    PENSTOCK_ASSIGN(ring_, shared_pinned_ring(device_.type));
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
    std::uint64_t count_of_tasks = 0;
    for (const Peaks& p : peaks) count_of_tasks += p.count;
    std::vector<Task> tasks;
    tasks.reserve(count_of_tasks);  // work_bytes() counts on it
    for (std::uint32_t s = 0; s < count; ++s)
      for (std::uint16_t p = 0; p < peaks[s].count; ++p) tasks.push_back({s, p, peaks[s].direction[p]});
    const std::uint64_t slot = sizeof(Vec3) * field_.params.max_points;
    const std::uint64_t batch = std::max<std::uint64_t>(kSlotBytes / slot, 1);
    std::vector<Streamlines> pieces;
    for (std::uint64_t at = 0; at < tasks.size(); at += batch) {
      PENSTOCK_TRY(job.check());
      const auto part = std::span(tasks).subspan(at, std::min<std::uint64_t>(batch, tasks.size() - at));
      const std::size_t number = pieces.size();
      if (points_.size() == number) points_.emplace_back();
      Streamlines& piece = pieces.emplace_back();
      PENSTOCK_TRY(follow_tasks(first, part, points_[number], piece));
    }
    return pieces;
  }

  Status points(std::span<const Streamlines> pieces, const TakePoints& take) override {
    const std::uint64_t most = landing_bytes();
    PENSTOCK_ASSIGN(Slab slab, ring_->acquire(kLandings * most, {}));
    const Status status = bring_down(pieces, slab.data(), most, take);
    PENSTOCK_TRY(stream_.synchronize());  // nothing comes into the slab any more
    return status;
  }

  [[nodiscard]] bool holds_points() const override { return false; }
  [[nodiscard]] std::uint64_t work_bytes(std::uint64_t seeds, std::uint64_t streamlines) const override {
    return seeds * sizeof(Peaks) + streamlines * (sizeof(Task) + sizeof(Followed) + sizeof(Kept)) +
           kLandings * landing_bytes();
  }
  [[nodiscard]] std::uint64_t peak_device_bytes() const override { return on_->memory().peak_bytes(); }
  [[nodiscard]] double kernel_seconds() const override { return on_->kernel_seconds(); }

 private:
  static constexpr std::size_t kLandings = 2;  // one is filled while the other is handed out
  struct Landing {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    Event filled;
  };

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
  /// Of a part of the slab that points come down to.
  [[nodiscard]] std::uint64_t landing_bytes() const {
    const std::uint64_t room = ring_->capacity_bytes() / kLandings;
    return std::min(kPieceBytes, room / kWholePoints * kWholePoints);
  }
  [[nodiscard]] std::uint64_t point_bytes() const { return field_.point_type == PointType::float16 ? 6 : 12; }

  /// Tracks tasks; those that are long enough leave their points in `points`.
  Status follow_tasks(std::uint64_t first, std::span<const Task> tasks, Room& points, Streamlines& out) {
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
    kept.reserve(n);
    out.lengths.reserve(n);
    out.seeds.reserve(n);
    out.reasons.reserve(2 * std::uint64_t{n});
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t length = followed[i].forward + followed[i].backward;
      if (length < field_.min_points) {
        ++out.too_short;
        continue;
      }
      kept.push_back({i, end, followed[i]});
      end += length;
      out.lengths.push_back(length);
      out.seeds.push_back(first + tasks[i].seed);
      out.reasons.insert(out.reasons.end(), {followed[i].reason[0], followed[i].reason[1]});
    }
    return compact(kept, end, slots, points, out);
  }

  /// Moves what is kept together, in the type that is written.
  Status compact(const std::vector<Kept>& kept, std::uint64_t n, const Vec3* slots, Room& points, Streamlines& out) {
    PENSTOCK_ASSIGN(Kept* const kept_device, kept_.of<Kept>(on_->memory(), kept.size(), stream_));
    PENSTOCK_ASSIGN(std::byte* const to, points.of<std::byte>(on_->memory(), n * point_bytes(), stream_));
    PENSTOCK_ASSIGN(Vec3* const seeds, seed_points_.of<Vec3>(on_->memory(), kept.size(), stream_));
    PENSTOCK_TRY(copy_async(kept_device, device_, kept.data(), {}, kept.size() * sizeof(Kept), stream_));
    const auto start = [&]<class Number>(Number* at) {
      const Compact<Number> move{field_.params, kept_device, slots, at, seeds};
      return launch_teams_cuda<NoScratch>(stream_, static_cast<std::uint32_t>(kept.size()), next_, move);
    };
    PENSTOCK_TRY(field_.point_type == PointType::float16 ? start(reinterpret_cast<CudaHalf*>(to))
                                                         : start(reinterpret_cast<float*>(to)));
    out.seed_points.resize(kept.size());
    return download(out.seed_points.data(), seeds, kept.size());
  }

  /// At most `most` bytes at a time, by way of `slab`.
  Status bring_down(std::span<const Streamlines> pieces, std::byte* slab, std::uint64_t most, const TakePoints& take) {
    std::array<Landing, kLandings> landings;
    for (std::size_t i = 0; i < kLandings; ++i) landings[i].data = slab + i * most;
    const auto hand_out = [&](Landing& landing) -> Status {
      if (landing.bytes == 0) return {};
      PENSTOCK_TRY(landing.filled.synchronize());
      return take(ByteView(landing.data, std::exchange(landing.bytes, 0)), field_.point_type);
    };
    std::size_t turn = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::uint64_t bytes = 0;
      for (const std::uint32_t length : pieces[i].lengths) bytes += length * point_bytes();
      PENSTOCK_ASSIGN(const std::byte* const from, points_[i].of<std::byte>(on_->memory(), bytes, stream_));
      for (std::uint64_t at = 0; at < bytes; at += most) {
        Landing& landing = landings[turn++ % kLandings];
        PENSTOCK_TRY(hand_out(landing));
        const std::uint64_t n = std::min(most, bytes - at);
        PENSTOCK_TRY(copy_async(landing.data, {}, from + at, device_, n, stream_));
        PENSTOCK_ASSIGN(landing.filled, Event::record(stream_));
        landing.bytes = n;
      }
    }
    for (std::size_t i = 0; i < kLandings; ++i) PENSTOCK_TRY(hand_out(landings[turn++ % kLandings]));
    return {};
  }

  const HostField& field_;
  std::shared_ptr<DeviceField> on_;
  Device device_;
  Stream stream_;
  std::shared_ptr<PinnedRing> ring_;
  std::uint32_t* next_ = nullptr;
  Room counter_, peaks_, tasks_, slots_, followed_, kept_, seed_points_;
  std::vector<Room> points_;  ///< of each piece of the last chunk
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

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "core/checked.hpp"
#include "device/cuda/launch.cuh"
#include "device/cuda/team_launch.cuh"
#include "device/pinned_ring.hpp"
#include "tracto/fit/fitter.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kMaxBatch = 4096;  // voxels that a worker has on the device at a time
// Of a batch, whatever is fitted: what one fit has pinned the next one takes again.
constexpr std::uint64_t kSlabBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kMaxWorkers = 6;  // while one fits, others bring signals up and results down
constexpr std::uint32_t kLargeWarps = 1;  // of a block, where a team's scratch takes most of what a block may have
constexpr std::uint64_t kColumnAlignment = 64;  // bytes

/// Gives each voxel of a batch its room.
template <class Fit>
struct WithRoom {
  Fit fit;
  double* room;
  std::uint64_t numbers;
  template <class Team, class Scratch>
  __device__ void operator()(const Team& team, std::uint32_t i, Scratch& scratch) const {
    fit(team, i, scratch, room + i * numbers);
  }
};

/// The columns of a batch one behind the other, in pinned memory and on the device alike: signals, then what is wanted.
struct Layout {
  std::uint64_t signal = 0, tensor = 0, sh = 0, pmf = 0, scale = 0, bytes = 0;

  Layout(const FitParams& p, const FitWork& work, std::uint64_t n) {
    const auto column = [&](bool wanted, std::uint64_t each) {
      const std::uint64_t at = bytes;
      if (wanted) bytes += (n * each + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
      return at;
    };
    signal = column(true, p.volumes * sizeof(float));
    tensor = column(work.tensor != nullptr, 12 * sizeof(double));
    sh = column(work.sh != nullptr, p.coefficients * sizeof(float));
    pmf = column(work.pmf != nullptr, p.stride * sizeof(std::uint16_t));
    scale = column(work.pmf != nullptr, sizeof(float));
  }
};

/// Memory that is uploaded once or used by one batch after the other.
class DeviceRoom {
 public:
  DeviceRoom(std::shared_ptr<Memory> memory, Device device) : memory_(std::move(memory)), device_(device) {}
  Status begin() {
    PENSTOCK_ASSIGN(stream_, Stream::create(device_));
    return {};
  }
  [[nodiscard]] const Stream& stream() const { return stream_; }
  template <class T>
  Result<T*> make(std::uint64_t n) {
    PENSTOCK_ASSIGN(Buffer buffer, memory_->allocate(std::max<std::uint64_t>(n * sizeof(T), 1), 256, stream_));
    held_.push_back(std::move(buffer));
    return reinterpret_cast<T*>(held_.back().data());
  }
  template <class T>
  Result<const T*> upload(const std::vector<T>& from) {
    PENSTOCK_ASSIGN(T* const to, make<T>(from.size()));
    PENSTOCK_TRY(copy_async(to, device_, from.data(), {}, from.size() * sizeof(T), stream_));
    return const_cast<const T*>(to);
  }

 private:
  std::shared_ptr<Memory> memory_;
  Device device_;
  Stream stream_;
  std::vector<Buffer> held_;
};

/// One of those that fit batch after batch, each with a stream and memory of its own.
class Worker {
 public:
  Worker(const FitTables& tables, const FitBuffers& in, const FitWork& work, const std::shared_ptr<Memory>& memory,
         Device device)
      : p_(tables.params), in_(in), work_(work), device_(device), room_(memory, device) {}

  Status begin(Slab slab, std::uint64_t batch) {
    batch_ = batch;
    slab_ = std::move(slab);
    PENSTOCK_TRY(room_.begin());
    PENSTOCK_ASSIGN(columns_, room_.make<std::byte>(Layout(p_, work_, batch).bytes));
    PENSTOCK_ASSIGN(numbers_, room_.make<double>(batch * fit_room(p_)));
    PENSTOCK_ASSIGN(next_, room_.make<std::uint32_t>(1));
    return {};
  }

  /// The voxels from number `at` on, one batch.
  Status fit(std::uint64_t at) {
    const auto part = work_.voxels.subspan(at, std::min(batch_, work_.voxels.size() - at));
    const Layout layout(p_, work_, part.size());
    auto* const rows = reinterpret_cast<float*>(slab_.data() + layout.signal);
    for (std::size_t i = 0; i < part.size(); ++i)
      std::copy_n(work_.signals.data() + std::uint64_t{part[i]} * p_.volumes, p_.volumes, rows + i * p_.volumes);
    const Status status = fit_on_device(layout, static_cast<std::uint32_t>(part.size()));
    PENSTOCK_TRY(room_.stream().synchronize());  // nothing reads or writes the slab any more
    PENSTOCK_TRY(status);
    fetch(work_.tensor, layout.tensor, at, part.size(), 12);
    fetch(work_.sh, layout.sh, at, part.size(), p_.coefficients);
    fetch(work_.pmf, layout.pmf, at, part.size(), p_.stride);
    if (work_.pmf != nullptr) fetch(work_.scale, layout.scale, at, part.size(), 1);
    return {};
  }

 private:
  Status fit_on_device(const Layout& layout, std::uint32_t n) {
    const Stream& stream = room_.stream();
    const std::uint64_t up = std::uint64_t{n} * p_.volumes * sizeof(float);
    PENSTOCK_TRY(copy_async(columns_ + layout.signal, device_, slab_.data() + layout.signal, {}, up, stream));
    const auto column = [&]<class T>(T*& to, bool wanted, std::uint64_t at) {
      if (wanted) to = reinterpret_cast<T*>(columns_ + at);
    };
    FitVoxels on = {};
    on.signal = reinterpret_cast<const float*>(columns_ + layout.signal);
    column(on.tensor, work_.tensor != nullptr, layout.tensor);
    column(on.sh, work_.sh != nullptr, layout.sh);
    column(on.pmf, work_.pmf != nullptr, layout.pmf);
    column(on.scale, work_.pmf != nullptr, layout.scale);
    if (on.tensor != nullptr)
      PENSTOCK_TRY(launch(n, WithRoom<TensorVoxels>{{p_, in_, on}, numbers_, fit_room(p_)}));
    else
      PENSTOCK_TRY(launch(n, WithRoom<HarmonicVoxels>{{p_, in_, on}, numbers_, fit_room(p_)}));
    const std::uint64_t from = layout.tensor;  // the first result
    return copy_async(slab_.data() + from, {}, columns_ + from, device_, layout.bytes - from, stream);
  }
  template <class Fit>
  Status launch(std::uint32_t n, const Fit& fit) {
    if (p_.coefficients <= kSmallFit && p_.directions <= packed_size(kSmallFit))
      return launch_teams_cuda<FitScratch<kSmallFit>>(room_.stream(), n, next_, fit);
    return launch_teams_cuda<FitScratch<kLargestFit>, Fit, kLargeWarps>(room_.stream(), n, next_, fit);
  }
  template <class T>
  void fetch(T* to, std::uint64_t from, std::uint64_t at, std::uint64_t n, std::uint64_t each) {
    if (to != nullptr) std::memcpy(to + at * each, slab_.data() + from, n * each * sizeof(T));
  }

  const FitParams p_;
  const FitBuffers in_;
  const FitWork& work_;
  const Device device_;
  std::uint64_t batch_ = 0;
  Slab slab_;
  DeviceRoom room_;
  std::byte* columns_ = nullptr;
  double* numbers_ = nullptr;
  std::uint32_t* next_ = nullptr;
};

class CudaFitter final : public Fitter {
 public:
  explicit CudaFitter(Device device) : device_(device) {}

  Status begin() {
    PENSTOCK_ASSIGN(memory_, Memory::create(device_, 0));
    PENSTOCK_ASSIGN(ring_, shared_pinned_ring(device_.type));
    return {};
  }

  Status run(Job& job, const FitTables& tables, const FitWork& work) override {
    DeviceRoom shared(memory_, device_);
    PENSTOCK_TRY(shared.begin());
    PENSTOCK_ASSIGN(const FitBuffers in, upload_tables(tables, shared));
    PENSTOCK_TRY(shared.stream().synchronize());
    const std::uint64_t each = Layout(tables.params, work, 1).bytes;
    const std::uint64_t room = std::min(ring_->capacity_bytes() / kMaxWorkers, kSlabBytes);
    const std::uint64_t batch = std::clamp<std::uint64_t>(room / each, 1, kMaxBatch);
    const std::uint64_t batches = div_up(work.voxels.size(), batch);
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::uint64_t i = 0; i < std::min({batches, kMaxWorkers, job.worker_count()}); ++i) {
      const std::uint64_t bytes = std::max(Layout(tables.params, work, batch).bytes, room);
      std::optional<Slab> slab;  // only the first is waited for: others may hold what this would wait for
      if (i == 0) {
        PENSTOCK_ASSIGN(slab, ring_->acquire(bytes, job.stop()));
      } else {
        PENSTOCK_ASSIGN(slab, ring_->try_acquire(bytes));
      }
      if (!slab) break;
      workers.push_back(std::make_unique<Worker>(tables, in, work, memory_, device_));
      PENSTOCK_TRY(workers.back()->begin(*std::move(slab), batch));
    }
    std::atomic<std::uint64_t> next{0};
    return job.for_each(workers.size(), true, [&](std::uint64_t worker) -> Status {  // no more than the job has
      for (std::uint64_t i = 0; (i = next.fetch_add(1)) < batches;) {
        PENSTOCK_TRY(job.check());
        PENSTOCK_TRY(workers[worker]->fit(i * batch));
      }
      return {};
    });
  }

  [[nodiscard]] std::string name() const override { return device_.name(); }
  [[nodiscard]] std::uint64_t peak_device_bytes() const override { return memory_->peak_bytes(); }

 private:
  static Result<FitBuffers> upload_tables(const FitTables& t, DeviceRoom& to) {
    FitBuffers in = {};
    PENSTOCK_ASSIGN(in.unweighted, to.upload(t.unweighted));
    PENSTOCK_ASSIGN(in.weighted, to.upload(t.weighted));
    PENSTOCK_ASSIGN(in.first, to.upload(t.first));
    PENSTOCK_ASSIGN(in.second, to.upload(t.second));
    PENSTOCK_ASSIGN(in.design, to.upload(t.design));
    PENSTOCK_ASSIGN(in.normal, to.upload(t.normal));
    PENSTOCK_ASSIGN(in.constraint, to.upload(t.constraint));
    PENSTOCK_ASSIGN(in.constraint_rows, to.upload(t.constraint_rows));
    PENSTOCK_ASSIGN(in.sampling, to.upload(t.sampling));
    PENSTOCK_ASSIGN(in.places, to.upload(t.places));
    return in;
  }

  Device device_;
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<PinnedRing> ring_;
};

}  // namespace

Result<std::unique_ptr<Fitter>> cuda_fitter(Device device) {
  auto fitter = std::make_unique<CudaFitter>(device);
  PENSTOCK_TRY(fitter->begin());
  return std::unique_ptr<Fitter>(std::move(fitter));
}

}  // namespace penstock::tracto

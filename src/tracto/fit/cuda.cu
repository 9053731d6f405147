#include <algorithm>

#include "device/cuda/launch.cuh"
#include "device/cuda/team_launch.cuh"
#include "tracto/fit/fitter.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kBatchBytes = std::uint64_t{256} << 20;  // of the room of a batch
constexpr std::uint64_t kMaxBatch = std::uint64_t{1} << 16, kMinBatch = 256;
constexpr std::uint32_t kLargeWarps = 1;  // of a block, where a team's scratch takes most of what a block may have

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

class CudaFitter final : public Fitter {
 public:
  explicit CudaFitter(Device device) : device_(device) {}

  Status begin() {
    PENSTOCK_ASSIGN(stream_, Stream::create(device_));
    PENSTOCK_ASSIGN(memory_, Memory::create(device_, 0));
    return {};
  }

  Status run(Job& job, const FitTables& tables, const FitWork& work) override {
    std::vector<Buffer> held;
    PENSTOCK_ASSIGN(const FitBuffers in, upload_tables(tables, held));
    const FitParams& p = tables.params;
    const std::uint64_t numbers = fit_room(p);
    const std::uint64_t batch = std::clamp(kBatchBytes / (8 * numbers), kMinBatch, kMaxBatch);
    PENSTOCK_ASSIGN(FitVoxels on, room_for(p, work, std::min<std::uint64_t>(batch, work.voxels.size()), held));
    PENSTOCK_ASSIGN(double* const room,
                    make<double>(std::min<std::uint64_t>(batch, work.voxels.size()) * numbers, held));
    PENSTOCK_ASSIGN(std::uint32_t* const next, make<std::uint32_t>(1, held));
    std::vector<float> rows;
    for (std::uint64_t at = 0; at < work.voxels.size(); at += batch) {
      PENSTOCK_TRY(job.check());
      const auto part = work.voxels.subspan(at, std::min<std::uint64_t>(batch, work.voxels.size() - at));
      gather(p, work, part, rows);
      PENSTOCK_TRY(copy_async(const_cast<float*>(on.signal), device_, rows.data(), {}, rows.size() * 4, stream_));
      const auto n = static_cast<std::uint32_t>(part.size());
      if (on.tensor != nullptr)
        PENSTOCK_TRY(launch(p, n, next, WithRoom<TensorVoxels>{{p, in, on}, room, numbers}));
      else
        PENSTOCK_TRY(launch(p, n, next, WithRoom<HarmonicVoxels>{{p, in, on}, room, numbers}));
      PENSTOCK_TRY(fetch(work.tensor, on.tensor, at, n, 12));
      PENSTOCK_TRY(fetch(work.sh, on.sh, at, n, p.coefficients));
      PENSTOCK_TRY(fetch(work.pmf, on.pmf, at, n, p.stride));
      PENSTOCK_TRY(fetch(work.scale, on.scale, at, n, 1));
      PENSTOCK_TRY(stream_.synchronize());
    }
    return {};
  }

  [[nodiscard]] std::string name() const override { return device_.name(); }
  [[nodiscard]] std::uint64_t peak_device_bytes() const override { return memory_->peak_bytes(); }

 private:
  template <class T>
  Result<T*> make(std::uint64_t n, std::vector<Buffer>& held) {
    PENSTOCK_ASSIGN(Buffer buffer, memory_->allocate(std::max<std::uint64_t>(n * sizeof(T), 1), 256, stream_));
    held.push_back(std::move(buffer));
    return reinterpret_cast<T*>(held.back().data());
  }
  template <class T>
  Result<const T*> upload(const std::vector<T>& from, std::vector<Buffer>& held) {
    PENSTOCK_ASSIGN(T* const to, make<T>(from.size(), held));
    PENSTOCK_TRY(copy_async(to, device_, from.data(), {}, from.size() * sizeof(T), stream_));
    return const_cast<const T*>(to);
  }
  Result<FitBuffers> upload_tables(const FitTables& t, std::vector<Buffer>& held) {
    FitBuffers in = {};
    PENSTOCK_ASSIGN(in.unweighted, upload(t.unweighted, held));
    PENSTOCK_ASSIGN(in.weighted, upload(t.weighted, held));
    PENSTOCK_ASSIGN(in.first, upload(t.first, held));
    PENSTOCK_ASSIGN(in.second, upload(t.second, held));
    PENSTOCK_ASSIGN(in.design, upload(t.design, held));
    PENSTOCK_ASSIGN(in.normal, upload(t.normal, held));
    PENSTOCK_ASSIGN(in.constraint, upload(t.constraint, held));
    PENSTOCK_ASSIGN(in.constraint_rows, upload(t.constraint_rows, held));
    PENSTOCK_ASSIGN(in.sampling, upload(t.sampling, held));
    return in;
  }
  /// Memory of a batch: of what is wanted.
  Result<FitVoxels> room_for(const FitParams& p, const FitWork& work, std::uint64_t n, std::vector<Buffer>& held) {
    FitVoxels on = {};
    PENSTOCK_ASSIGN(on.signal, make<float>(n * p.volumes, held));
    if (work.tensor != nullptr) {
      PENSTOCK_ASSIGN(on.tensor, make<double>(n * 12, held));
    }
    if (work.sh != nullptr) {
      PENSTOCK_ASSIGN(on.sh, make<float>(n * p.coefficients, held));
    }
    if (work.pmf != nullptr) {
      PENSTOCK_ASSIGN(on.pmf, make<std::uint16_t>(n * p.stride, held));
      PENSTOCK_ASSIGN(on.scale, make<float>(n, held));
    }
    return on;
  }
  /// The signals of a batch beside each other.
  static void gather(const FitParams& p, const FitWork& work, std::span<const std::uint32_t> part,
                     std::vector<float>& rows) {
    rows.resize(part.size() * p.volumes);
    for (std::size_t i = 0; i < part.size(); ++i)
      std::copy_n(work.signals.data() + std::uint64_t{part[i]} * p.volumes, p.volumes, rows.data() + i * p.volumes);
  }
  template <class Fit>
  Status launch(const FitParams& p, std::uint32_t n, std::uint32_t* next, const Fit& fit) {
    if (p.coefficients <= kSmallFit && p.directions <= packed_size(kSmallFit))
      return launch_teams_cuda<FitScratch<kSmallFit>>(stream_, n, next, fit);
    return launch_teams_cuda<FitScratch<kLargestFit>, Fit, kLargeWarps>(stream_, n, next, fit);
  }
  template <class T>
  Status fetch(T* to, const T* from, std::uint64_t at, std::uint64_t n, std::uint64_t each) {
    if (from == nullptr) return {};
    return copy_async(to + at * each, {}, from, device_, n * each * sizeof(T), stream_);
  }

  Device device_;
  Stream stream_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace

Result<std::unique_ptr<Fitter>> cuda_fitter(Device device) {
  auto fitter = std::make_unique<CudaFitter>(device);
  PENSTOCK_TRY(fitter->begin());
  return std::unique_ptr<Fitter>(std::move(fitter));
}

}  // namespace penstock::tracto

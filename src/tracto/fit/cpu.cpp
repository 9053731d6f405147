#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"
#include "device/team.hpp"
#include "tracto/clones.hpp"
#include "tracto/fit/fitter.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kBlockVoxels = 64;  // of one task

template <class Fit, class Scratch>
PENSTOCK_CLONES void fit_voxels(const Fit& fit, std::uint32_t first, std::uint32_t end, Scratch& scratch,
                                double* room) {
  const HostTeam<32> team;
  for (std::uint32_t i = first; i < end; ++i) fit(team, i, scratch, room);
}

class CpuFitter final : public Fitter {
 public:
  explicit CpuFitter(std::uint64_t threads) : threads_(threads) {}

  Status run(Job& job, const FitTables& tables, const FitWork& work) override {
    const FitVoxels voxels = {work.signals.data(), work.voxels.data(), work.tensor, work.sh, work.pmf, work.scale};
    if (work.tensor != nullptr)
      return each_block(job, TensorVoxels{tables.params, tables.buffers(), voxels}, work.voxels.size());
    return each_block(job, HarmonicVoxels{tables.params, tables.buffers(), voxels}, work.voxels.size());
  }
  [[nodiscard]] std::string name() const override {
    return fmt::format("cpu, {} thread{}", threads_, threads_ == 1 ? "" : "s");
  }

 private:
  template <class Fit>
  static Status each_block(Job& job, const Fit& fit, std::uint64_t n) {
    return job.run([&] {
      return job.for_each(div_up(n, kBlockVoxels), true, [&](std::uint64_t block) -> Status {
        const auto scratch = std::make_unique<FitScratch<kLargestFit>>();
        std::vector<double> room(fit_room(fit.params));
        fit_voxels(fit, static_cast<std::uint32_t>(block * kBlockVoxels),
                   static_cast<std::uint32_t>(std::min(n, (block + 1) * kBlockVoxels)), *scratch, room.data());
        return {};
      });
    });
  }
  std::uint64_t threads_;
};

}  // namespace

std::unique_ptr<Fitter> cpu_fitter(std::uint64_t threads) { return std::make_unique<CpuFitter>(threads); }

Result<std::unique_ptr<Fitter>> make_fitter(std::span<const Device> devices, std::uint64_t threads) {
  if (!devices.empty() && devices.front().type == Device::Type::cuda) return cuda_fitter(devices.front());
  return cpu_fitter(threads);
}

}  // namespace penstock::tracto

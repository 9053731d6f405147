// Voxels fitted by a processor.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/job.hpp"
#include "penstock/device.hpp"
#include "tracto/fit/voxels.hpp"

namespace penstock::tracto {

/// What a fit multiplies with, in host memory.
struct FitTables {
  FitParams params = {};
  std::vector<std::uint32_t> unweighted, weighted;
  std::vector<double> first, second, design, normal, constraint, constraint_rows, sampling;
  std::vector<PackedPlace> places;
  [[nodiscard]] FitBuffers buffers() const {
    return {unweighted.data(), weighted.data(),   first.data(),           second.data(),   design.data(),
            normal.data(),     constraint.data(), constraint_rows.data(), sampling.data(), places.data()};
  }
};

/// The voxels of a launch, in host memory.
struct FitWork {
  std::span<const float> signals;         ///< rows of FitParams::volumes
  std::span<const std::uint32_t> voxels;  ///< rows
  double* tensor = nullptr;               ///< as FitVoxels has them
  float* sh = nullptr;
  std::uint16_t* pmf = nullptr;
  float* scale = nullptr;
};

/// Not thread-safe.
class Fitter {
 public:
  virtual ~Fitter() = default;
  /// Errors: cancelled, out_of_memory, device_error.
  virtual Status run(Job& job, const FitTables& tables, const FitWork& work) = 0;
  /// For the report.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::uint64_t peak_device_bytes() const { return 0; }
};

std::unique_ptr<Fitter> cpu_fitter(std::uint64_t threads);
/// Errors: unsupported (built without CUDA), no_device, out_of_memory, device_error.
Result<std::unique_ptr<Fitter>> cuda_fitter(Device device);
/// That of the first device; none: the CPU.
Result<std::unique_ptr<Fitter>> make_fitter(std::span<const Device> devices, std::uint64_t threads);

}  // namespace penstock::tracto

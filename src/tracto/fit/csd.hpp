// Constrained spherical deconvolution of a voxel (Tournier et al. 2007).
#pragma once
#include <span>

#include "tracto/fit/fitter.hpp"
#include "tracto/fit/response.hpp"
#include "tracto/sphere/sphere.hpp"

namespace penstock::tracto {

struct CsdOptions {
  std::uint32_t order = 8;
  double lambda = 1;  ///< weight of the constraint
  double tau = 0.1;   ///< amplitudes below tau of the mean are held down
};

class CsdFit {
 public:
  /// `b`, `directions`: of the weighted volumes.  `constrained`: directions in which amplitudes are looked at.
  /// At most kMaxConstrained of these.  Errors: invalid_argument (fewer volumes than coefficients).
  static Result<CsdFit> make(std::span<const double> b, std::span<const Direction> directions,
                             const FibreResponse& response, std::vector<Direction> constrained, const CsdOptions& how);
  /// Of a voxel.  `signal`: of the weighted volumes.  Coefficients of the fibre orientation distribution in the legacy
  /// basis; all zero where the signal is not finite.
  [[nodiscard]] std::vector<double> fit(std::span<const float> signal) const;
  /// Of volumes that are the weighted ones alone.
  [[nodiscard]] const FitTables& tables() const { return tables_; }

 private:
  CsdFit() = default;
  FitTables tables_;
};

}  // namespace penstock::tracto

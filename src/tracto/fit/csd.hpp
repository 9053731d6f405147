// Constrained spherical deconvolution of a voxel (Tournier et al. 2007).
#pragma once
#include <Eigen/Core>
#include <span>

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
  /// Errors: invalid_argument (fewer volumes than coefficients).
  static Result<CsdFit> make(std::span<const double> b, std::span<const Direction> directions,
                             const FibreResponse& response, std::vector<Direction> constrained, const CsdOptions& how);
  /// `signal`: of the weighted volumes.  Coefficients of the fibre orientation distribution in the legacy basis; all
  /// zero where the signal is not finite.
  [[nodiscard]] Eigen::VectorXd fit(const Eigen::VectorXd& signal) const;
  [[nodiscard]] std::uint32_t order() const { return how_.order; }

 private:
  CsdFit() = default;
  [[nodiscard]] Eigen::VectorXd solve(Eigen::MatrixXd normal, const Eigen::VectorXd& z) const;
  CsdOptions how_;
  Eigen::MatrixXd forward_t_;  // coefficients x volumes
  Eigen::MatrixXd normal_;
  Eigen::MatrixXd constraint_;  // directions x coefficients
};

}  // namespace penstock::tracto

// Orientation distributions of one shell that are linear in a function of its attenuations: constant solid angle (CSA;
// Aganj et al. 2010) and orientation probability density transform (OPDT; Tristan-Vega et al. 2009, 2010).
#pragma once
#include <Eigen/Core>
#include <span>

#include "penstock/error.hpp"
#include "tracto/fit/fitter.hpp"
#include "tracto/sphere/sphere.hpp"

namespace penstock::tracto {

struct QballOptions {
  bool opdt = false;  ///< else CSA
  std::uint32_t order = 4;
  double smooth = 0.006;  ///< weight of the Laplace-Beltrami penalty
  double min_signal = 1;  ///< lower signals count as this
};

class QballFit {
 public:
  /// `directions`: of the weighted volumes.  Errors: invalid_argument (fewer of them than coefficients).
  static Result<QballFit> make(std::span<const Direction> directions, const QballOptions& how);
  /// What fit_qball takes but for the volumes; signals that are not finite count as min_signal.
  [[nodiscard]] FitTables tables() const;

  // What the bootstrap multiplies with; coefficients x volumes but for `basis`, volumes x coefficients.
  [[nodiscard]] const Eigen::MatrixXd& first() const { return first_; }
  [[nodiscard]] const Eigen::MatrixXd& second() const { return second_; }
  [[nodiscard]] const Eigen::MatrixXd& basis() const { return basis_; }

 private:
  QballFit() = default;
  QballOptions how_;
  Eigen::MatrixXd basis_, first_, second_;
};

/// What resampling of residuals takes (Berman et al. 2008): H = U transposed(U) gives the fitted signal, and
/// residual i is divided by sqrt(1 - H[i, i]), then the mean of all is taken away.
struct HatMatrix {
  Eigen::MatrixXd u;         ///< volumes x coefficients
  Eigen::VectorXd leverage;  ///< 1 / sqrt(1 - H[i, i])
  Eigen::VectorXd mean;      ///< times a signal: the mean of its divided residuals
};
/// Errors: invalid_argument (a volume that the fit follows whatever it holds).
Result<HatMatrix> hat_matrix(const Eigen::MatrixXd& basis);

}  // namespace penstock::tracto

#include "tracto/fit/tensor.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

namespace penstock::tracto {
namespace {

constexpr double kMinSignal = 1e-4;

}  // namespace

double Tensor3::fa() const {
  const auto [a, b, c] = evals;
  const double all = a * a + b * b + c * c;
  if (!(all > 0)) return 0;
  return std::sqrt(0.5 * ((a - b) * (a - b) + (b - c) * (b - c) + (c - a) * (c - a)) / all);
}

double Tensor3::md() const { return (evals[0] + evals[1] + evals[2]) / 3; }

TensorFit::TensorFit(const Gradients& g, TensorMethod method) : method_(method) {
  const auto n = static_cast<Eigen::Index>(g.size());
  design_.resize(n, 7);
  for (const double b : g.b) scale_ = std::max(scale_, b);
  double largest = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto& v = g.vector[static_cast<std::size_t>(i)];
    const double b = g.b[static_cast<std::size_t>(i)];
    const double row[6] = {v[0] * v[0], 2 * v[0] * v[1], v[1] * v[1], 2 * v[0] * v[2], 2 * v[1] * v[2], v[2] * v[2]};
    for (int k = 0; k < 6; ++k) {
      largest = std::max(largest, b * row[k]);
      design_(i, k) = -b / scale_ * row[k];
    }
    design_(i, 6) = -1;
  }
  min_diffusivity_ = 1e-6 / std::max(largest, 1.0);
  inverse_ = design_.completeOrthogonalDecomposition().pseudoInverse();
}

Tensor3 TensorFit::fit(std::span<const float> signal) const {
  using Vector7 = Eigen::Matrix<double, 7, 1>;
  Eigen::VectorXd log_signal(design_.rows());
  for (Eigen::Index i = 0; i < design_.rows(); ++i) {
    const double s = signal[static_cast<std::size_t>(i)];
    log_signal[i] = std::log(s > kMinSignal ? s : kMinSignal);
  }
  Vector7 beta = inverse_ * log_signal;
  if (method_ == TensorMethod::wls) {
    const Eigen::VectorXd weights = (2 * (design_ * beta)).array().exp();
    const Eigen::MatrixXd weighted = weights.asDiagonal() * design_;
    const Eigen::Matrix<double, 7, 7> normal = design_.transpose() * weighted;
    const Vector7 solved = normal.ldlt().solve(weighted.transpose() * log_signal);
    if (solved.allFinite()) beta = solved;
  }
  Eigen::Matrix3d d;
  d << beta[0], beta[1], beta[3], beta[1], beta[2], beta[4], beta[3], beta[4], beta[5];
  d /= scale_;
  Tensor3 out;
  if (!d.allFinite()) return out;
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(d);
  for (int i = 0; i < 3; ++i) {  // Eigen gives the smallest first
    out.evals[static_cast<std::size_t>(i)] = std::max(solver.eigenvalues()[2 - i], min_diffusivity_);
    for (int k = 0; k < 3; ++k)
      out.evecs[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)] = solver.eigenvectors()(k, 2 - i);
  }
  return out;
}

}  // namespace penstock::tracto

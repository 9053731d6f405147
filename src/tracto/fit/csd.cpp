#include "tracto/fit/csd.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <cmath>
#include <numbers>

#include "tracto/sh/basis.hpp"

namespace penstock::tracto {
namespace {

constexpr int kMaxIterations = 50;
constexpr Eigen::Index kFirstCoefficients = 15;  // of degrees up to 4, from which the first amplitudes are taken
constexpr double kRidge = 1e-5;                  // where the normal matrix is not positive definite

/// Signal of a fibre along z.
double response_signal(const FibreResponse& r, double b, const Direction& g) {
  return r.s0 * std::exp(-b * (r.evals[1] * (g[0] * g[0] + g[1] * g[1]) + r.evals[0] * g[2] * g[2]));
}

/// Rows of amplitudes below the threshold.
std::vector<bool> small_rows(const Eigen::VectorXd& amplitudes, double threshold) {
  std::vector<bool> out(static_cast<std::size_t>(amplitudes.size()));
  for (Eigen::Index i = 0; i < amplitudes.size(); ++i) out[static_cast<std::size_t>(i)] = amplitudes[i] < threshold;
  return out;
}

bool none(const std::vector<bool>& rows) { return std::find(rows.begin(), rows.end(), true) == rows.end(); }

}  // namespace

Result<CsdFit> CsdFit::make(std::span<const double> b, std::span<const Direction> directions,
                            const FibreResponse& response, std::vector<Direction> constrained, const CsdOptions& how) {
  const std::uint32_t count = sh_count(how.order);
  if (directions.size() < count)
    return Error(ErrorCode::invalid_argument, fmt::format("spherical harmonics of order {} have {} coefficients; there "
                                                          "are {} weighted volumes",
                                                          how.order, count, directions.size()));
  CsdFit out;
  out.how_ = how;
  const Eigen::MatrixXd basis = sh_matrix(directions, how.order);
  Eigen::VectorXd signal(basis.rows());
  for (Eigen::Index i = 0; i < basis.rows(); ++i)
    signal[i] = response_signal(response, b[static_cast<std::size_t>(i)], directions[static_cast<std::size_t>(i)]);
  const Eigen::VectorXd r = basis.completeOrthogonalDecomposition().solve(signal);
  Eigen::VectorXd scale(count);
  double first = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t l = sh_degree(i), zonal = sh_count(l) - l - 1;  // m = 0 of this degree
    scale[i] = r[zonal] / std::sqrt((2.0 * l + 1) / (4 * std::numbers::pi));
    if (i == 0) first = scale[i];
  }
  const Eigen::MatrixXd forward = basis * scale.asDiagonal();
  out.forward_t_ = forward.transpose();
  out.normal_ = out.forward_t_ * forward;
  const double strength =
      how.lambda * count * first / (std::sqrt(static_cast<double>(constrained.size())) * std::sqrt(362.0));
  out.constraint_ = strength * sh_matrix(constrained, how.order);
  return out;
}

Eigen::VectorXd CsdFit::solve(Eigen::MatrixXd normal, const Eigen::VectorXd& z) const {
  const Eigen::LLT<Eigen::MatrixXd> factor(normal);
  if (factor.info() == Eigen::Success) return factor.solve(z);
  normal.diagonal().array() += kRidge;
  return normal.ldlt().solve(z);
}

Eigen::VectorXd CsdFit::fit(const Eigen::VectorXd& signal) const {
  const Eigen::VectorXd z = forward_t_ * signal;
  Eigen::VectorXd f = solve(normal_, z);
  if (!f.allFinite()) return Eigen::VectorXd::Zero(normal_.rows());
  const double threshold = constraint_(0, 0) * f[0] * how_.tau;
  const Eigen::Index head = std::min(kFirstCoefficients, f.size());
  std::vector<bool> rows = small_rows(constraint_.leftCols(head) * f.head(head), threshold);
  if (none(rows)) rows = small_rows(constraint_ * f, threshold);
  if (none(rows)) return f;
  for (int i = 0; i < kMaxIterations; ++i) {
    std::vector<Eigen::Index> chosen;
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (rows[k]) chosen.push_back(static_cast<Eigen::Index>(k));
    const Eigen::MatrixXd h = constraint_(chosen, Eigen::all);
    f = solve(normal_ + h.transpose() * h, z);
    if (!f.allFinite()) return Eigen::VectorXd::Zero(normal_.rows());
    std::vector<bool> next = small_rows(constraint_ * f, threshold);
    if (next == rows) break;
    rows = std::move(next);
  }
  return f;
}

}  // namespace penstock::tracto

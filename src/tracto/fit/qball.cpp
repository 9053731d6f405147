#include "tracto/fit/qball.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/SVD>
#include <cmath>
#include <numbers>

#include "tracto/sh/basis.hpp"

namespace penstock::tracto {
namespace {

/// The Legendre polynomial of an even degree at 0: 1, -1/2, 3/8, -5/16, ...
double legendre_at_0(std::uint32_t degree) {
  double value = 1;
  for (std::uint32_t l = 2; l <= degree; l += 2) value *= -(l - 1.0) / l;
  return value;
}

}  // namespace

Result<QballFit> QballFit::make(std::span<const Direction> directions, const QballOptions& how) {
  const std::uint32_t count = sh_count(how.order);
  if (directions.size() < count)
    return Error(ErrorCode::invalid_argument, fmt::format("spherical harmonics of order {} have {} coefficients; there "
                                                          "are {} weighted volumes",
                                                          how.order, count, directions.size()));
  QballFit out;
  out.how_ = how;
  out.basis_ = sh_matrix(directions, how.order);
  Eigen::VectorXd penalty(count), laplace(count), funk(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const double l = sh_degree(i);
    laplace[i] = -l * (l + 1);
    penalty[i] = how.smooth * laplace[i] * laplace[i];
    funk[i] = legendre_at_0(sh_degree(i));
  }
  const Eigen::MatrixXd normal = out.basis_.transpose() * out.basis_ + Eigen::MatrixXd(penalty.asDiagonal());
  const Eigen::MatrixXd inverse = normal.ldlt().solve(out.basis_.transpose());
  if (how.opdt) {
    out.first_ = (4 * funk).asDiagonal() * inverse;
    out.second_ = funk.cwiseProduct(laplace).asDiagonal() * inverse;
  } else {
    out.first_ = (funk.cwiseProduct(laplace) / (8 * std::numbers::pi)).asDiagonal() * inverse;
  }
  return out;
}

FitTables QballFit::tables() const {
  FitTables t;
  t.params.kind = how_.opdt ? FitKind::opdt : FitKind::csa;
  t.params.coefficients = static_cast<std::uint32_t>(basis_.cols());
  t.params.min_signal = how_.min_signal;
  t.first.assign(first_.data(), first_.data() + first_.size());
  t.second.assign(second_.data(), second_.data() + second_.size());
  return t;
}

Result<HatMatrix> hat_matrix(const Eigen::MatrixXd& basis) {
  HatMatrix out;
  out.u = Eigen::JacobiSVD<Eigen::MatrixXd>(basis, Eigen::ComputeThinU).matrixU();
  const Eigen::Index n = basis.rows();
  out.leverage.resize(n);
  Eigen::MatrixXd residual = Eigen::MatrixXd::Identity(n, n) - out.u * out.u.transpose();
  for (Eigen::Index i = 0; i < n; ++i) {
    const double rest = residual(i, i);
    if (!(rest > 1e-6))
      return Error(ErrorCode::invalid_argument,
                   fmt::format("bootstrap: {} coefficients leave no residual at weighted volume {} of {}", basis.cols(),
                               i, n))
          .set_hint("a lower --sh-order leaves some.");
    out.leverage[i] = 1 / std::sqrt(rest);
    residual.row(i) *= out.leverage[i];
  }
  out.mean = residual.colwise().mean();
  return out;
}

}  // namespace penstock::tracto

#include "tracto/fit/csd.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tracto/sh/basis.hpp"

namespace penstock::tracto {
namespace {

/// Signal of a fibre along z.
double response_signal(const FibreResponse& r, double b, const Direction& g) {
  return r.s0 * std::exp(-b * (r.evals[1] * (g[0] * g[0] + g[1] * g[1]) + r.evals[0] * g[2] * g[2]));
}

/// Appends a matrix column by column, each filled up to `stride`.
void append_columns(const Eigen::MatrixXd& m, Eigen::Index stride, std::vector<double>& to) {
  for (Eigen::Index j = 0; j < m.cols(); ++j) {
    for (Eigen::Index i = 0; i < m.rows(); ++i) to.push_back(m(i, j));
    to.insert(to.end(), static_cast<std::size_t>(stride - m.rows()), 0.0);
  }
}

}  // namespace

Result<CsdFit> CsdFit::make(std::span<const double> b, std::span<const Direction> directions,
                            const FibreResponse& response, std::vector<Direction> constrained, const CsdOptions& how) {
  const std::uint32_t count = sh_count(how.order);
  if (directions.size() < count)
    return Error(ErrorCode::invalid_argument, fmt::format("spherical harmonics of order {} have {} coefficients; there "
                                                          "are {} weighted volumes",
                                                          how.order, count, directions.size()));
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
  Eigen::MatrixXd normal = forward.transpose() * forward;
  Eigen::LLT<Eigen::MatrixXd> factor(normal);
  if (factor.info() != Eigen::Success) factor.compute(normal + kCsdRidge * Eigen::MatrixXd::Identity(count, count));
  const double strength =
      how.lambda * count * first / (std::sqrt(static_cast<double>(constrained.size())) * std::sqrt(362.0));
  const Eigen::MatrixXd constraint = strength * sh_matrix(constrained, how.order);
  CsdFit out;
  FitTables& t = out.tables_;
  t.places = packed_places(count);
  t.params.kind = FitKind::csd;
  t.params.coefficients = count;
  t.params.constrained = static_cast<std::uint32_t>(constrained.size());
  t.params.volumes = t.params.weighted = static_cast<std::uint32_t>(directions.size());
  t.params.tau = how.tau;
  t.weighted.resize(directions.size());
  std::iota(t.weighted.begin(), t.weighted.end(), 0u);
  append_columns(factor.solve(forward.transpose()), count, t.first);
  append_columns(forward.transpose(), count, t.second);
  append_columns(constraint, kMaxConstrained, t.constraint);
  append_columns(constraint.transpose(), count, t.constraint_rows);
  for (Eigen::Index j = 0; j < normal.cols(); ++j)
    for (Eigen::Index i = j; i < normal.rows(); ++i) t.normal.push_back(normal(i, j));
  return out;
}

std::vector<double> CsdFit::fit(std::span<const float> signal) const {
  const auto scratch = std::make_unique<FitScratch<kLargestFit>>();
  std::vector<double> room(fit_room(tables_.params)), weighted(signal.begin(), signal.end());
  const bool some = fit_csd(HostTeam<32>(), tables_.params, tables_.buffers(), weighted.data(), *scratch, room.data());
  std::vector<double> out(tables_.params.coefficients);
  if (some) std::copy_n(scratch->f, out.size(), out.begin());
  return out;
}

}  // namespace penstock::tracto

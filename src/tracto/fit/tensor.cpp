#include "tracto/fit/tensor.hpp"

#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace penstock::tracto {

double Tensor3::fa() const {
  const auto [a, b, c] = evals;
  const double all = a * a + b * b + c * c;
  if (!(all > 0)) return 0;
  return std::sqrt(0.5 * ((a - b) * (a - b) + (b - c) * (b - c) + (c - a) * (c - a)) / all);
}

double Tensor3::md() const { return (evals[0] + evals[1] + evals[2]) / 3; }

TensorFit::TensorFit(const Gradients& g, TensorMethod method) {
  FitParams& p = tables_.params;
  p.volumes = p.weighted = static_cast<std::uint32_t>(g.size());
  p.coefficients = kTensorColumns;
  p.wls = method == TensorMethod::wls ? 1 : 0;
  tables_.places = packed_places(kTensorColumns);
  tables_.unweighted = unweighted_volumes(g);
  p.unweighted = static_cast<std::uint32_t>(tables_.unweighted.size());
  tables_.weighted.resize(g.size());
  std::iota(tables_.weighted.begin(), tables_.weighted.end(), 0u);
  p.b_scale = 1;
  for (const double b : g.b) p.b_scale = std::max(p.b_scale, b);
  Eigen::MatrixXd design(static_cast<Eigen::Index>(g.size()), static_cast<Eigen::Index>(kTensorColumns));
  double largest = 0;
  for (Eigen::Index i = 0; i < design.rows(); ++i) {
    const auto& v = g.vector[static_cast<std::size_t>(i)];
    const double b = g.b[static_cast<std::size_t>(i)];
    const double row[6] = {v[0] * v[0], 2 * v[0] * v[1], v[1] * v[1], 2 * v[0] * v[2], 2 * v[1] * v[2], v[2] * v[2]};
    for (int k = 0; k < 6; ++k) {
      largest = std::max(largest, b * row[k]);
      design(i, k) = -b / p.b_scale * row[k];
    }
    design(i, 6) = -1;
  }
  p.min_diffusivity = 1e-6 / std::max(largest, 1.0);
  const Eigen::MatrixXd inverse = design.completeOrthogonalDecomposition().pseudoInverse();
  for (Eigen::Index i = 0; i < design.rows(); ++i) {
    for (Eigen::Index k = 0; k < inverse.rows(); ++k) {
      tables_.first.push_back(inverse(k, i));
      tables_.design.push_back(design(i, k));
    }
    for (Eigen::Index k = 0; k < design.cols(); ++k)
      for (Eigen::Index l = k; l < design.cols(); ++l) tables_.second.push_back(design(i, l) * design(i, k));
  }
}

Tensor3 TensorFit::fit(std::span<const float> signal) const {
  FitScratch<kSmallFit> scratch;
  std::vector<double> room(fit_room(tables_.params));
  double twelve[12] = {};
  fit_tensor(HostTeam<32>(), tables_.params, tables_.buffers(), signal.data(), scratch, room.data(), twelve);
  return tensor_of(twelve);
}

Tensor3 tensor_of(const double* twelve) {
  Tensor3 out;
  std::copy_n(twelve, 3, out.evals.begin());
  for (std::size_t i = 0; i < 3; ++i) std::copy_n(twelve + 3 + 3 * i, 3, out.evecs[i].begin());
  return out;
}

}  // namespace penstock::tracto

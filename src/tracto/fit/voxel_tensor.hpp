// The diffusion tensor of one voxel, over a Team.
#pragma once
#include "tracto/fit/voxel.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kTensorColumns = 7;  ///< of the design: xx, xy, yy, xz, yz, zz, -ln S0
inline constexpr double kMinTensorSignal = 1e-4;

/// Eigenvalues, largest first, and their vectors, by Jacobi's rotations.
struct Eigen3 {
  double value[3];
  double vector[3][3];  ///< vector[i] belongs to value[i]
};

/// Turns rows and columns p and q of `d` so that d[p][q] becomes 0, and the vectors (columns of `v`) likewise.
PENSTOCK_HD void rotate(double (&d)[3][3], double (&v)[3][3], int p, int q) {
  if (d[p][q] == 0) return;
  const double theta = (d[q][q] - d[p][p]) / (2 * d[p][q]);
  const double root = std::sqrt(theta * theta + 1);
  const double t = theta < 0 ? -1 / (root - theta) : 1 / (root + theta);
  const double c = 1 / std::sqrt(t * t + 1), s = t * c;
  d[p][p] -= t * d[p][q];
  d[q][q] += t * d[p][q];
  d[p][q] = d[q][p] = 0;
  const int r = 3 - p - q;
  const double rp = d[r][p], rq = d[r][q];
  d[r][p] = d[p][r] = c * rp - s * rq;
  d[r][q] = d[q][r] = s * rp + c * rq;
  for (int k = 0; k < 3; ++k) {
    const double kp = v[k][p], kq = v[k][q];
    v[k][p] = c * kp - s * kq;
    v[k][q] = s * kp + c * kq;
  }
}

PENSTOCK_HD Eigen3 eigen3(double (&d)[3][3]) {
  double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (int sweep = 0; sweep < 12; ++sweep) {
    if (d[0][1] == 0 && d[0][2] == 0 && d[1][2] == 0) break;
    rotate(d, v, 0, 1);
    rotate(d, v, 0, 2);
    rotate(d, v, 1, 2);
  }
  int order[3] = {0, 1, 2};
  const auto larger_first = [&](int a, int b) {
    if (d[order[b]][order[b]] <= d[order[a]][order[a]]) return;
    const int kept = order[a];
    order[a] = order[b];
    order[b] = kept;
  };
  larger_first(0, 1);
  larger_first(0, 2);
  larger_first(1, 2);
  Eigen3 out = {};
  for (int i = 0; i < 3; ++i) {
    out.value[i] = d[order[i]][order[i]];
    for (int k = 0; k < 3; ++k) out.vector[i][k] = v[k][order[i]];
  }
  return out;
}

/// The least squares of the logarithms, weighted by the signals that the ordinary ones gave; into `beta`, which holds
/// the ordinary ones and keeps them where the weighted cannot be solved.
template <class Team, class Scratch>
PENSTOCK_HD void weigh_tensor(const Team& team, const FitParams& p, const FitBuffers& in, Scratch& scratch,
                              double* log_signal, double* weight, double* beta) {
  const double* const design = in.design;
  const std::uint32_t n = p.volumes;
  team.for_each(n, [=](std::uint32_t i) {
    double exponent = 0;
    for (std::uint32_t k = 0; k < kTensorColumns; ++k) exponent += design[kTensorColumns * i + k] * beta[k];
    const double w = exp_of(2 * exponent);
    weight[i] = w;
    log_signal[i] *= w;
  });
  team_times(team, in.second, packed_size(kTensorColumns), packed_size(kTensorColumns), n, weight, scratch.matrix);
  team_times(team, design, kTensorColumns, kTensorColumns, n, log_signal, scratch.f);
  if (!cholesky(team, scratch.matrix, kTensorColumns, in.places, scratch.inverse)) return;
  solve_factored(team, scratch.matrix, scratch.inverse, kTensorColumns, scratch.f, scratch.x);
  if (!all_finite(team, scratch.f, kTensorColumns)) return;
  const double* const solved = scratch.f;
  team.for_each(kTensorColumns, [=](std::uint32_t k) { beta[k] = solved[k]; });
}

/// Eigenvalues (mm2/s, none below min_diffusivity) and eigenvectors of a voxel, into out[12]; all 0 without unweighted
/// signal.  `room`: 2 numbers for each volume.  Signals below 1e-4, and NaN, count as 1e-4.
template <class Team, class Scratch>
PENSTOCK_HD void fit_tensor(const Team& team, const FitParams& p, const FitBuffers& in, const float* signal,
                            Scratch& scratch, double* room, double* out) {
  double *const log_signal = room, *const weight = room + p.volumes, *const beta = scratch.z;
  team.for_each(p.volumes, [=](std::uint32_t i) {
    const auto s = static_cast<double>(signal[i]);
    log_signal[i] = log_of(s > kMinTensorSignal ? (s < 1e30 ? s : 1e30) : kMinTensorSignal);
  });
  team_times(team, in.first, kTensorColumns, kTensorColumns, p.volumes, log_signal, beta);
  if (p.wls != 0) weigh_tensor(team, p, in, scratch, log_signal, weight, beta);
  const double s = p.b_scale;
  double d[3][3] = {{beta[0] / s, beta[1] / s, beta[3] / s},
                    {beta[1] / s, beta[2] / s, beta[4] / s},
                    {beta[3] / s, beta[4] / s, beta[5] / s}};
  const bool some = all_finite(team, beta, 6) && mean_unweighted(p, in, signal, -1e300) > 0;
  const Eigen3 e = eigen3(d);
  const double least = p.min_diffusivity;
  team.each_lane([=](std::uint32_t lane) {
    if (lane != 0) return;
    for (int i = 0; i < 3; ++i) {
      out[i] = some ? (e.value[i] > least ? e.value[i] : least) : 0;
      for (int k = 0; k < 3; ++k) out[3 + 3 * i + k] = some ? e.vector[i][k] : 0;
    }
  });
}

}  // namespace penstock::tracto

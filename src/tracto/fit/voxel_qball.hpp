// CSA and OPDT of one voxel, over a Team (fit/qball.hpp says what they are).
#pragma once
#include "tracto/fit/voxel.hpp"

namespace penstock::tracto {

/// The coefficients of `weighted` signals, into scratch.f.  `unweighted`: their mean, each at least min_signal.
/// `weighted` holds attenuations afterwards; `factor`: room for as many numbers.
template <class Team, class Scratch>
PENSTOCK_HD void fit_qball(const Team& team, const FitParams& p, const FitBuffers& in, double* weighted,
                           double unweighted, Scratch& scratch, double* factor) {
  const std::uint32_t n = p.coefficients;
  const bool opdt = p.kind == FitKind::opdt;
  const double least = p.min_signal, b0 = unweighted > least ? unweighted : least;
  team.for_each(p.weighted, [=](std::uint32_t i) {
    const double s = weighted[i];
    const double e = (s > least && is_finite(s) ? s : least) / b0;
    const double inside = e > 0.999 ? 0.999 : e > 0.001 ? e : 0.001;
    const double l = -log_of(opdt ? e : inside);
    weighted[i] = e;
    factor[i] = opdt ? l * (1.5 - l) * e : log_of(l);
  });
  team_times(team, in.first, n, n, p.weighted, factor, scratch.f);
  if (opdt) team_times(team, in.second, n, n, p.weighted, weighted, scratch.x);
  double* const f = scratch.f;
  const double* const x = scratch.x;
  team.for_each(n, [=](std::uint32_t i) {
    if (opdt)
      f[i] -= x[i];
    else if (i == 0)
      f[i] = 0.28209479177387814;  // 1 / (2 sqrt(pi))
  });
}

}  // namespace penstock::tracto

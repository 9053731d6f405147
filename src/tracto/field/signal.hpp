// The field that the bootstrap samples: the signals of a shell, and matrices that they are multiplied with.
#pragma once
#include "tracto/field/pmf.hpp"
#include "tracto/linear.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kMaxWeighted = 384;
inline constexpr std::uint32_t kMaxCoefficients = 91;  // of order 12

/// Where the matrices lie in TrackBuffers::fit.
struct BootMatrices {
  const float* project;   ///< weighted columns, sh_stride: coefficients of the signal, then the mean corrected residual
  const float* hat;       ///< coefficients columns, row_stride: the fitted signal from its coefficients
  const float* leverage;  ///< row_stride: 1 / sqrt(1 - h)
  const float* first;     ///< weighted columns, sh_stride: of CSA; of OPDT what e (1.5 - e) E is multiplied with
  const float* second;    ///< weighted columns, sh_stride: of OPDT what E is multiplied with
  const float* sampling;  ///< coefficients columns, TrackParams::stride: amplitudes
};
PENSTOCK_HD BootMatrices boot_matrices(const TrackParams& t, const float* fit) {
  const BootParams& b = t.boot;
  BootMatrices m = {};
  m.project = fit;
  m.hat = m.project + b.weighted * b.sh_stride;
  m.leverage = m.hat + b.coefficients * b.row_stride;
  m.first = m.leverage + b.row_stride;
  m.second = m.first + b.weighted * b.sh_stride;
  m.sampling = m.second + b.weighted * b.sh_stride;
  return m;
}

/// The signals at a point inside, into `out`.  Uniform: the mean unweighted one.
template <class Team>
PENSTOCK_HD float sample_signal(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                                float* out) {
  const float* row[8];
  float part[8];
  const std::uint32_t last = t.boot.signal_stride - 1;
  float unweighted = 0;
  for (int k = 0; k < 8; ++k) {
    const std::int32_t r = in.row[c.voxel[k]];
    part[k] = r < 0 ? 0 : c.part[k];
    row[k] = in.signal + static_cast<std::uint64_t>(r < 0 ? 0 : r) * t.boot.signal_stride;
    unweighted += part[k] * row[k][last];
  }
  const float *const a = row[0], *const b = row[1], *const d = row[2], *const e = row[3], *const f = row[4],
                     *const g = row[5], *const h = row[6], *const j = row[7];
  const EightParts parts = {{part[0], part[1], part[2], part[3], part[4], part[5], part[6], part[7]}};
  team.for_each(t.boot.weighted, [=](std::uint32_t i) {
    out[i] = parts.of[0] * a[i] + parts.of[1] * b[i] + parts.of[2] * d[i] + parts.of[3] * e[i] + parts.of[4] * f[i] +
             parts.of[5] * g[i] + parts.of[6] * h[i] + parts.of[7] * j[i];
  });
  return unweighted;
}

}  // namespace penstock::tracto

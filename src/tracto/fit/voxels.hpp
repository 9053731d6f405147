// The fits of many voxels: a team for each, whatever runs them.
#pragma once
#include "tracto/fit/voxel_csd.hpp"
#include "tracto/fit/voxel_qball.hpp"
#include "tracto/fit/voxel_tensor.hpp"

namespace penstock::tracto {

/// Where voxel i of a launch has its signals, and where its results go.  What is not wanted is null.
struct FitVoxels {
  const float* signal;         ///< rows of FitParams::volumes
  const std::uint32_t* voxel;  ///< row of voxel i; null: i
  double* tensor;              ///< (n, 12) eigenvalues, eigenvectors
  float* sh;                   ///< (n, coefficients)
  std::uint16_t* pmf;          ///< (n, stride) amplitudes as parts of 65535 of the largest
  float* scale;                ///< (n) what they are multiplied with

  PENSTOCK_HD const float* signal_of(const FitParams& p, std::uint32_t i) const {
    return signal + static_cast<std::uint64_t>(voxel == nullptr ? i : voxel[i]) * p.volumes;
  }
};

/// Amplitudes of the coefficients in scratch.f, 16 bits each.
template <class Team, class Scratch>
PENSTOCK_HD void pack_amplitudes(const Team& team, const FitParams& p, const FitBuffers& in, Scratch& scratch,
                                 std::uint16_t* out, float* scale) {
  double* const amplitude = scratch.matrix;
  team_times(team, in.sampling, p.directions, p.directions, p.coefficients, scratch.f, amplitude);
  auto bits = team.map([&](std::uint32_t lane) {
    float most = 0;
    for (std::uint32_t i = lane; i < p.directions; i += Team::lanes) {
      const auto a = static_cast<float>(amplitude[i]);
      most = a > most ? a : most;
    }
    return float_bits(most);  // not negative: their order is that of the numbers
  });
  const float most = bits_float(team.largest(bits)), factor = most > 0 ? 65535 / most : 0;
  const std::uint32_t directions = p.directions;
  team.for_each(p.stride, [=](std::uint32_t i) {  // the rest is read too, and counts for nothing
    const auto a = i < directions ? static_cast<float>(amplitude[i]) : 0.0f;
    const float part = a > 0 ? a * factor + 0.5f : 0.0f;
    out[i] = static_cast<std::uint16_t>(static_cast<std::int32_t>(part < 65535 ? part : 65535.0f));
  });
  team.each_lane([=](std::uint32_t lane) {
    if (lane == 0) *scale = most / 65535;
  });
}

/// The tensor of voxel i.  `room`: fit_room numbers.
struct TensorVoxels {
  FitParams params;
  FitBuffers in;
  FitVoxels voxels;
  template <class Team, class Scratch>
  PENSTOCK_HD void operator()(const Team& team, std::uint32_t i, Scratch& scratch, double* room) const {
    fit_tensor(team, params, in, voxels.signal_of(params, i), scratch, room, voxels.tensor + std::uint64_t{12} * i);
  }
};

/// The spherical harmonics of voxel i, and the amplitudes that they give.
struct HarmonicVoxels {
  FitParams params;
  FitBuffers in;
  FitVoxels voxels;

  template <class Team, class Scratch>
  PENSTOCK_HD void operator()(const Team& team, std::uint32_t i, Scratch& scratch, double* room) const {
    const FitParams& p = params;
    const float* const signal = voxels.signal_of(p, i);
    const std::uint32_t* const number = in.weighted;
    double *const normal = room, *const weighted = room + packed_size(p.coefficients);
    team.for_each(p.weighted, [=](std::uint32_t k) { weighted[k] = static_cast<double>(signal[number[k]]); });
    bool some = true;
    double* const f = scratch.f;
    switch (p.kind) {
      case FitKind::copy:
        team.for_each(p.coefficients, [=](std::uint32_t k) { f[k] = weighted[k]; });
        some = all_finite(team, f, p.coefficients);
        break;
      case FitKind::csd: some = fit_csd(team, p, in, weighted, scratch, normal); break;
      case FitKind::csa:
      case FitKind::opdt: {
        const auto b0 = static_cast<double>(mean_unweighted(p, in, signal, p.min_signal));
        fit_qball(team, p, in, weighted, b0, scratch, weighted + p.weighted);
      }
    }
    if (!some) team.for_each(p.coefficients, [=](std::uint32_t k) { f[k] = 0; });
    if (voxels.sh != nullptr) {
      float* const out = voxels.sh + static_cast<std::uint64_t>(i) * p.coefficients;
      team.for_each(p.coefficients, [=](std::uint32_t k) { out[k] = static_cast<float>(f[k]); });
    }
    if (voxels.pmf != nullptr)
      pack_amplitudes(team, p, in, scratch, voxels.pmf + static_cast<std::uint64_t>(i) * p.stride, voxels.scale + i);
  }
};

}  // namespace penstock::tracto

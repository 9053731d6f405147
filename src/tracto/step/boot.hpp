// Residual bootstrap (Berman et al. 2008; Chung et al. 2006): at each point the shell's signal is fitted by spherical
// harmonics, its residuals are shuffled onto the fit, a new orientation distribution (OPDT or CSA) is made of it, and
// the step goes along the peak that is closest to the last direction.
#pragma once
#include "tracto/field/signal.hpp"
#include "tracto/step/amplitudes.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kBootAttempts = 5;

/// Beside a voxel's amplitudes and weights, where the signals and what is made of them stand before.
template <std::uint32_t N>
struct BootScratch : StepScratch<N> {
  static_assert(N >= kMaxWeighted);
  float fitted[kMaxWeighted];
  float residual[kMaxWeighted];
  float projected[kMaxCoefficients + 1];
  float coefficient[kMaxCoefficients];
};

struct BootStep : DirectionStep {
  template <std::uint32_t N>
  using ScratchOf = BootScratch<N>;

  /// The peaks of the signal as it is, as DIPY begins; with boot.retry of one attempt, as cuslines does.
  template <class Team, class Scratch>
  PENSTOCK_HD static Peaks start(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                                 Scratch& scratch, const DrawKey& key) {
    const float unweighted = sample_signal(team, t, in, c, scratch.amplitude);
    if (t.boot.retry != 0) {
      split(team, t, in, scratch);
      shuffle(team, t, scratch, key, 0, 0);
    }
    return peaks_of(team, t, in, unweighted, scratch);
  }

  template <class Team, class Scratch>
  PENSTOCK_HD static bool next(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                               Scratch& scratch, const DrawKey& key, std::uint32_t step, const Vec3&, Vec3& last) {
    const float unweighted = sample_signal(team, t, in, c, scratch.amplitude);
    split(team, t, in, scratch);
    for (std::uint32_t attempt = 0; attempt < kBootAttempts; ++attempt) {
      shuffle(team, t, scratch, key, step, attempt);
      const Peaks peaks = peaks_of(team, t, in, unweighted, scratch);
      if (go_to_closest(t, in, peaks, last)) return true;
      if (peaks.count > 0 && t.boot.retry == 0) return false;
    }
    return false;
  }

 private:
  /// The signal in `amplitude` as what is fitted to it, and residuals: each over sqrt(1 - leverage), their mean taken
  /// away.
  template <class Team, class Scratch>
  PENSTOCK_HD static void split(const Team& team, const TrackParams& t, const TrackBuffers& in, Scratch& scratch) {
    const BootParams& b = t.boot;
    const BootMatrices m = boot_matrices(t, in.fit);
    team_times(team, m.project, b.sh_stride, b.coefficients + 1, b.weighted, scratch.amplitude, scratch.projected);
    team_times(team, m.hat, b.row_stride, b.weighted, b.coefficients, scratch.projected, scratch.fitted);
    team.for_each(b.weighted, [&](std::uint32_t i) {
      scratch.residual[i] =
          (scratch.amplitude[i] - scratch.fitted[i]) * m.leverage[i] - scratch.projected[b.coefficients];
    });
  }

  /// A new signal: to each fitted number a residual of any.
  template <class Team, class Scratch>
  PENSTOCK_HD static void shuffle(const Team& team, const TrackParams& t, Scratch& scratch, const DrawKey& key,
                                  std::uint32_t step, std::uint32_t attempt) {
    const std::uint32_t n = t.boot.weighted, fours = (n + 3) / 4;
    team.for_each(fours, [&](std::uint32_t four) {
      const Philox random = draw(key, step, attempt * fours + four);
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t i = 4 * four + k;
        if (i < n) scratch.amplitude[i] = scratch.fitted[i] + scratch.residual[mul_high(random.word[k], n)];
      }
    });
  }

  /// The peaks of the orientation distribution of the signal in `amplitude`.
  template <class Team, class Scratch>
  PENSTOCK_HD static Peaks peaks_of(const Team& team, const TrackParams& t, const TrackBuffers& in, float unweighted,
                                    Scratch& scratch) {
    const BootParams& b = t.boot;
    const BootMatrices m = boot_matrices(t, in.fit);
    const float scale = 1 / (unweighted > b.min_signal ? unweighted : b.min_signal), least = b.min_signal;
    float* const value = scratch.amplitude;
    float* const factor = reinterpret_cast<float*>(scratch.weight);
    float* const coefficient = scratch.coefficient;
    const bool opdt = b.is_opdt != 0;
    team.for_each(b.weighted, [=](std::uint32_t i) {
      const float e = (value[i] > least ? value[i] : least) * scale;
      const float inside = e < 0.001f ? 0.001f : e > 0.999f ? 0.999f : e;
      const float l = -log_of(opdt ? e : inside);
      value[i] = e;
      factor[i] = opdt ? l * (1.5f - l) * e : log_of(l);
    });
    if (opdt) {
      team_times_both<Team, float>(team, {m.first, m.second}, b.sh_stride, b.coefficients, b.weighted, {factor, value},
                                   {coefficient, scratch.projected});
      team.for_each(b.coefficients, [&](std::uint32_t j) { coefficient[j] -= scratch.projected[j]; });
    } else {
      team_times(team, m.first, b.sh_stride, b.coefficients, b.weighted, factor, coefficient);
      team.each_lane([&](std::uint32_t lane) {
        if (lane == 0) coefficient[0] = 0.282094792f;  // 1 / (2 sqrt(pi))
      });
    }
    team_times(team, m.sampling, t.stride, t.directions, b.coefficients, coefficient, scratch.amplitude);
    team.for_each(t.directions, [=](std::uint32_t i) { value[i] = value[i] > 0 ? value[i] : 0.0f; });  // NaN too
    drop_weak(team, t, scratch.amplitude);
    return find_peaks(team, t, in, scratch.amplitude, scratch.weight);
  }
};

}  // namespace penstock::tracto

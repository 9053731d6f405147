// Constrained spherical deconvolution of one voxel, over a Team: least squares, in which the rows of the constraint
// whose amplitude is small are held down, again and again until they are the same rows.
#pragma once
#include "tracto/fit/voxel.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kCsdRounds = 50;
inline constexpr std::uint32_t kFirstCoefficients = 15;  ///< of degrees to 4: the first amplitudes are of these
inline constexpr double kCsdRidge = 1e-5;                ///< where the normal matrix is not positive definite

/// Which rows should be held down, and whether those are others than before.
struct HeldRows {
  bool some, changed;
};
template <class Team, class Scratch>
PENSTOCK_HD HeldRows mark_rows(const Team& team, const FitParams& p, const FitBuffers& in, std::uint32_t head,
                               double threshold, Scratch& scratch) {
  team_times(team, in.constraint, kMaxConstrained, p.constrained, head, scratch.f, scratch.amplitude);
  auto found = team.map([&](std::uint32_t lane) {
    std::uint32_t bits = 0;
    for (std::uint32_t i = lane; i < p.constrained; i += Team::lanes) {
      const std::uint32_t held = scratch.state[i] & 1u, wanted = scratch.amplitude[i] < threshold ? 1 : 0;
      scratch.state[i] = static_cast<std::uint8_t>(held | wanted << 1);
      bits |= wanted | (held ^ wanted) << 1;
    }
    return bits;
  });
  auto some = team.map([&](std::uint32_t lane) { return (team.at(found, lane) & 1u) != 0; });
  auto changed = team.map([&](std::uint32_t lane) { return (team.at(found, lane) & 2u) != 0; });
  return {team.first(some) < Team::lanes, team.first(changed) < Team::lanes};
}

/// Lists the rows that change, in their order, and takes them as held or free; uniform: how many.
template <class Team, class Scratch>
PENSTOCK_HD std::uint32_t list_changes(const Team& team, const FitParams& p, Scratch& scratch) {
  const std::uint32_t each = (p.constrained + Team::lanes - 1) / Team::lanes;  // a lane has neighbours
  auto count = team.map([&](std::uint32_t lane) {
    std::uint32_t n = 0;
    for (std::uint32_t i = lane * each; i < (lane + 1) * each && i < p.constrained; ++i)
      n += scratch.state[i] == 1 || scratch.state[i] == 2 ? 1 : 0;
    return n;
  });
  auto up_to = team.inclusive_sum(count);
  team.each_lane([&](std::uint32_t lane) {
    std::uint32_t at = team.at(up_to, lane) - team.at(count, lane);
    for (std::uint32_t i = lane * each; i < (lane + 1) * each && i < p.constrained; ++i) {
      const std::uint32_t state = scratch.state[i];
      if (state == 1 || state == 2) scratch.changed[at++] = static_cast<std::uint16_t>(2 * i + (state >> 1));
      scratch.state[i] = static_cast<std::uint8_t>(state >> 1);
    }
  });
  return team.broadcast(up_to, Team::lanes - 1);
}

/// A changed row, and whether it is added (1) or taken away (-1).
struct ChangedRow {
  const double* of;
  double sign;
};
PENSTOCK_HD ChangedRow changed_row(const FitParams& p, const FitBuffers& in, std::uint16_t change) {
  return {in.constraint_rows + (change >> 1) * p.coefficients, (change & 1) != 0 ? 1.0 : -1.0};
}

/// normal[i, j] += row[i] (sign row[j]) of each changed row, in their order.
template <class Team, class Scratch>
PENSTOCK_HD void take_changes(const Team& team, const FitParams& p, const FitBuffers& in, std::uint32_t changes,
                              const Scratch& scratch, double* normal) {
  const std::uint32_t n = p.coefficients;
  if constexpr (kIsHostTeam<Team>) {
    std::uint32_t c = 0;
    for (; c + 4 <= changes; c += 4) {
      const ChangedRow q = changed_row(p, in, scratch.changed[c]), r = changed_row(p, in, scratch.changed[c + 1]),
                       s = changed_row(p, in, scratch.changed[c + 2]), t = changed_row(p, in, scratch.changed[c + 3]);
      for (std::uint32_t j = 0; j < n; ++j)
        add_columns<double>({q.of + j, r.of + j, s.of + j, t.of + j},
                            {q.sign * q.of[j], r.sign * r.of[j], s.sign * s.of[j], t.sign * t.of[j]}, n - j,
                            normal + packed_column(n, j));
    }
    for (; c < changes; ++c) {
      const ChangedRow q = changed_row(p, in, scratch.changed[c]);
      for (std::uint32_t j = 0; j < n; ++j) {
        double* const column = normal + packed_column(n, j);
        const double factor = q.sign * q.of[j];
        for (std::uint32_t i = j; i < n; ++i) column[i - j] += q.of[i] * factor;
      }
    }
  } else {
    // A lane takes some elements at a time, so that the loads of one wait beside those of the others.
    constexpr std::uint32_t kAtOnce = 11;  // 3 times those of all lanes are those of order 8
    const std::uint32_t size = packed_size(n);
    double* const last = normal + size - 1;
    for (std::uint32_t begin = 0; begin < size; begin += kAtOnce * Team::lanes)
      team.each_lane([&](std::uint32_t lane) {
        std::uint32_t row[kAtOnce], column[kAtOnce];
        double sum[kAtOnce];
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < kAtOnce; ++k) {
          const std::uint32_t t = begin + k * Team::lanes + lane;
          const PackedPlace place = in.places[t < size ? t : 0];
          row[k] = n - 1 - place.row;
          column[k] = n - 1 - place.column;
          sum[k] = t < size ? *(last - t) : 0;
        }
        PENSTOCK_NO_UNROLL
        for (std::uint32_t c = 0; c < changes; ++c) {
          const ChangedRow q = changed_row(p, in, scratch.changed[c]);
          PENSTOCK_UNROLL
          for (std::uint32_t k = 0; k < kAtOnce; ++k) sum[k] += q.of[row[k]] * (q.sign * q.of[column[k]]);
        }
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < kAtOnce; ++k) {
          const std::uint32_t t = begin + k * Team::lanes + lane;
          if (t < size) *(last - t) = sum[k];
        }
      });
  }
}

/// f of normal f = z; uniform: whether there is one.
template <class Team, class Scratch>
PENSTOCK_HD bool solve_normal(const Team& team, std::uint32_t n, const PackedPlace* places, const double* normal,
                              Scratch& scratch) {
  double *const matrix = scratch.matrix, *const f = scratch.f;
  const double* const z = scratch.z;
  for (int attempt = 0; attempt < 2; ++attempt) {
    team.for_each(packed_size(n), [=](std::uint32_t i) { matrix[i] = normal[i]; });
    if (attempt > 0) team.for_each(n, [=](std::uint32_t j) { matrix[packed_column(n, j)] += kCsdRidge; });
    if (!cholesky(team, matrix, n, places, scratch.inverse)) continue;
    team.for_each(n, [=](std::uint32_t i) { f[i] = z[i]; });
    solve_factored(team, matrix, scratch.inverse, n, f, scratch.x);
    return all_finite(team, f, n);
  }
  return false;
}

/// The coefficients of `weighted` signals, into scratch.f.  `normal`: room for a packed matrix.  Uniform: whether there
/// are any.
template <class Team, class Scratch>
PENSTOCK_HD bool fit_csd(const Team& team, const FitParams& p, const FitBuffers& in, const double* weighted,
                         Scratch& scratch, double* normal) {
  const std::uint32_t n = p.coefficients;
  team_times(team, in.second, n, n, p.weighted, weighted, scratch.z);
  team_times(team, in.first, n, n, p.weighted, weighted, scratch.f);
  if (!all_finite(team, scratch.f, n)) return false;
  const double threshold = in.constraint[0] * scratch.f[0] * p.tau;
  const double* const from = in.normal;
  std::uint8_t* const state = scratch.state;
  team.for_each(kMaxConstrained, [=](std::uint32_t i) { state[i] = 0; });
  team.for_each(packed_size(n), [=](std::uint32_t i) { normal[i] = from[i]; });
  HeldRows rows = mark_rows(team, p, in, n < kFirstCoefficients ? n : kFirstCoefficients, threshold, scratch);
  if (!rows.some) rows = mark_rows(team, p, in, n, threshold, scratch);
  if (!rows.some) return true;
  for (std::uint32_t round = 0; round < kCsdRounds && (rows.changed || round == 0); ++round) {
    const std::uint32_t changes = list_changes(team, p, scratch);
    take_changes(team, p, in, changes, scratch, normal);
    if (!solve_normal(team, n, in.places, normal, scratch)) return false;
    rows = mark_rows(team, p, in, n, threshold, scratch);
  }
  return true;
}

}  // namespace penstock::tracto

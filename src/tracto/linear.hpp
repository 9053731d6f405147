// Small matrices over a Team.  Every sum is taken in one order, so that each executor gives the same bits.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "device/portable.hpp"
#include "device/team.hpp"
#include "tracto/math.hpp"

namespace penstock::tracto {

template <class Team>
inline constexpr bool kIsHostTeam = std::is_same_v<Team, HostTeam<static_cast<int>(Team::lanes)>>;

/// The part of team_times of four columns: what a compiler makes vectors of.
template <class T>
void add_columns(const T* const (&column)[4], const T (&factor)[4], std::uint32_t rows, T* out) {
  const T *const a = column[0], *const b = column[1], *const c = column[2], *const d = column[3];
  const T fa = factor[0], fb = factor[1], fc = factor[2], fd = factor[3];
  for (std::uint32_t i = 0; i < rows; ++i) out[i] = out[i] + a[i] * fa + b[i] * fb + c[i] * fc + d[i] * fd;
}

/// out[i] = sum over j of matrix[j * stride + i] x[j], added from j = 0 on.
template <class Team, class T>
PENSTOCK_HD void team_times(const Team& team, const T* matrix, std::uint32_t stride, std::uint32_t rows,
                            std::uint32_t columns, const T* x, T* out) {
  if constexpr (kIsHostTeam<Team>) {
    for (std::uint32_t i = 0; i < rows; ++i) out[i] = 0;
    std::uint32_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      const T* const m = matrix + j * stride;
      add_columns<T>({m, m + stride, m + 2 * stride, m + 3 * stride}, {x[j], x[j + 1], x[j + 2], x[j + 3]}, rows, out);
    }
    for (; j < columns; ++j) {
      const T factor = x[j];
      const T* const column = matrix + j * stride;
      for (std::uint32_t i = 0; i < rows; ++i) out[i] += column[i] * factor;
    }
  } else {
    constexpr std::uint32_t kRows = 6;  // of a lane at a time: their loads wait beside each other
    for (std::uint32_t begin = 0; begin < rows; begin += kRows * Team::lanes)
      team.each_lane([=](std::uint32_t lane) {
        T sum[kRows] = {};
        for (std::uint32_t j = 0; j < columns; ++j) {
          const T factor = x[j];
          const T* const column = matrix + j * stride;
          PENSTOCK_UNROLL
          for (std::uint32_t k = 0; k < kRows; ++k) {
            const std::uint32_t i = begin + k * Team::lanes + lane;
            if (i < rows) sum[k] += column[i] * factor;
          }
        }
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < kRows; ++k) {
          const std::uint32_t i = begin + k * Team::lanes + lane;
          if (i < rows) out[i] = sum[k];
        }
      });
  }
}

template <class T>
struct Two {
  T first, second;
};
/// Two products as team_times has them, of as many rows and columns; on a device in one region, for few rows leave most
/// lanes idle.
template <class Team, class T>
PENSTOCK_HD void team_times_both(const Team& team, const Two<const T*>& matrix, std::uint32_t stride,
                                 std::uint32_t rows, std::uint32_t columns, const Two<const T*>& x,
                                 const Two<T*>& out) {
  if constexpr (kIsHostTeam<Team>) {
    team_times(team, matrix.first, stride, rows, columns, x.first, out.first);
    team_times(team, matrix.second, stride, rows, columns, x.second, out.second);
  } else {
    team.for_each(2 * rows, [=](std::uint32_t i) {
      const bool second = i >= rows;
      const std::uint32_t row = second ? i - rows : i;
      const T *const column = (second ? matrix.second : matrix.first) + row, *const factor =
                                                                                 second ? x.second : x.first;
      T sum = 0;
      for (std::uint32_t j = 0; j < columns; ++j) sum += column[j * stride] * factor[j];
      (second ? out.second : out.first)[row] = sum;
    });
  }
}

/// One region: `alone()` once, `each(i)` for i < n; neither touches what another writes.
template <class Team, class Alone, class Each>
PENSTOCK_HD void for_one_and_each(const Team& team, std::uint32_t n, const Alone& alone, const Each& each) {
  if constexpr (kIsHostTeam<Team>) {  // without a branch in the loop, for a compiler to make vectors of
    alone();
    for (std::uint32_t i = 0; i < n; ++i) each(i);
  } else {
    team.for_each(n + 1, [=](std::uint32_t i) {
      if (i == 0)
        alone();
      else
        each(i - 1);
    });
  }
}

/// Elements of the lower triangle of a symmetric matrix, column by column.
PENSTOCK_HD constexpr std::uint32_t packed_size(std::uint32_t n) { return n * (n + 1) / 2; }
/// Where column j begins, with its element of the diagonal.
PENSTOCK_HD constexpr std::uint32_t packed_column(std::uint32_t n, std::uint32_t j) { return j * (2 * n - j + 1) / 2; }

/// How many rows and columns from the last an element of a packed matrix is.  Counted from its last element on, these
/// are the same whatever the size: element t is in column c, with c (c + 1) / 2 <= t, and in row t - c (c + 1) / 2.
struct PackedPlace {
  std::uint8_t row, column;
};
/// Places of the elements of a matrix of n columns, at most 256, from the last on.
inline std::vector<PackedPlace> packed_places(std::uint32_t n) {
  std::vector<PackedPlace> out;
  for (std::uint32_t column = 0; column < n; ++column)
    for (std::uint32_t row = 0; row <= column; ++row)
      out.push_back({static_cast<std::uint8_t>(row), static_cast<std::uint8_t>(column)});
  return out;
}

/// One step of cholesky's: column k, whose diagonal stays, becomes that of L.  false: it is not positive.
inline bool finish_column(double* column, std::uint32_t rows, double& inverse) {
  if (!(column[0] > 0)) return false;
  const double factor = inverse = 1 / std::sqrt(column[0]);
  for (std::uint32_t i = 1; i < rows; ++i) column[i] *= factor;
  return true;
}
/// to -= a a[0], then b b[0]; the three do not overlap.
inline void subtract_two(const double* __restrict a, const double* __restrict b, std::uint32_t rows,
                         double* __restrict to) {
  const double fa = a[0], fb = b[0];
  for (std::uint32_t i = 0; i < rows; ++i) to[i] = to[i] - a[i] * fa - b[i] * fb;
}
inline void subtract_one(const double* __restrict a, std::uint32_t rows, double* __restrict to) {
  const double fa = a[0];
  for (std::uint32_t i = 0; i < rows; ++i) to[i] -= a[i] * fa;
}

/// cholesky without lanes, two columns at a time: what a compiler makes vectors of.
inline bool host_cholesky(double* a, std::uint32_t n, double* inverse) {
  for (std::uint32_t k = 0; k < n; k += 2) {
    double* const first = a + packed_column(n, k);
    if (!finish_column(first, n - k, inverse[k])) return false;
    if (k + 1 == n) break;
    double* const second = a + packed_column(n, k + 1);
    subtract_one(first + 1, n - k - 1, second);
    if (!finish_column(second, n - k - 1, inverse[k + 1])) return false;
    for (std::uint32_t j = k + 2; j < n; ++j)
      subtract_two(first + (j - k), second + (j - k - 1), n - j, a + packed_column(n, j));
  }
  return true;
}

/// cholesky over lanes, two columns at a time: all lanes share the elements behind them.
template <class Team>
PENSTOCK_HD bool team_cholesky(const Team& team, double* a, std::uint32_t n, const PackedPlace* places,
                               double* inverse) {
  for (std::uint32_t k = 0; k < n; k += 2) {
    double* const first = a + packed_column(n, k);
    const double diagonal = first[0];  // diagonals are not written any more: lanes may still read them
    if (!(diagonal > 0)) return false;
    const double factor = 1 / std::sqrt(diagonal);
    for_one_and_each(team, n - k - 1, [=] { inverse[k] = factor; }, [=](std::uint32_t i) { first[i + 1] *= factor; });
    if (k + 1 == n) break;
    double* const second = a + packed_column(n, k + 1);
    const double beside = first[1], next = second[0] - beside * beside;
    if (!(next > 0)) return false;
    const double next_factor = 1 / std::sqrt(next);
    for_one_and_each(
        team, n - k - 2, [=] { inverse[k + 1] = next_factor; },
        [=](std::uint32_t i) { second[i + 1] = (second[i + 1] - first[i + 2] * beside) * next_factor; });
    double* const last = a + packed_size(n) - 1;
    const double *const first_end = second - 1, *const second_end = a + packed_column(n, k + 2) - 1;
    team.template for_each_batched<4>(
        packed_size(n - k - 2),
        [=](std::uint32_t t) {
          const std::uint32_t i = places[t].row, j = places[t].column;
          return *(last - t) - *(first_end - i) * *(first_end - j) - *(second_end - i) * *(second_end - j);
        },
        [=](std::uint32_t t, double value) { *(last - t) = value; });
  }
  return true;
}

/// Factors a packed matrix in place: below the diagonal stands L, in `inverse` (n) one over its diagonal.  `places`: of
/// n columns or more.  Uniform: whether it is positive definite.
template <class Team>
PENSTOCK_HD bool cholesky(const Team& team, double* a, std::uint32_t n, const PackedPlace* places, double* inverse) {
  if constexpr (kIsHostTeam<Team>)
    return host_cholesky(a, n, inverse);
  else
    return team_cholesky(team, a, n, places, inverse);
}

/// Solves with what cholesky made; `x` (n): the right side, then the solution; `between` (n): room.
template <class Team>
PENSTOCK_HD void solve_factored(const Team& team, const double* a, const double* inverse, std::uint32_t n, double* x,
                                double* between) {
  for (std::uint32_t k = 0; k < n; ++k) {
    const double* const column = a + packed_column(n, k);
    const double value = x[k] * inverse[k];
    double* const rest = x + k + 1;
    for_one_and_each(
        team, n - k - 1, [=] { between[k] = value; }, [=](std::uint32_t i) { rest[i] -= column[i + 1] * value; });
  }
  for (std::uint32_t k = n; k-- > 0;) {
    const double value = between[k] * inverse[k];
    for_one_and_each(
        team, k, [=] { x[k] = value; }, [=](std::uint32_t i) { between[i] -= a[packed_column(n, i) + k - i] * value; });
  }
}

/// Uniform: whether all of `n` numbers are finite.
template <class Team>
PENSTOCK_HD bool all_finite(const Team& team, const double* x, std::uint32_t n) {
  auto bad = team.map([&](std::uint32_t lane) {
    bool some = false;
    for (std::uint32_t i = lane; i < n; i += Team::lanes) some = some || !is_finite(x[i]);
    return some;
  });
  return team.first(bad) == Team::lanes;
}

}  // namespace penstock::tracto

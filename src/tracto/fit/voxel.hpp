// What the fits of one voxel share: what they are told, the tables they multiply with, the memory that a team has. Fits
// are written once for all executors, in double precision; no device has other bits.
#pragma once
#include <cstdint>

#include "tracto/linear.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kSmallFit = 45;         ///< coefficients of order 8
inline constexpr std::uint32_t kLargestFit = 91;       ///< of order 12
inline constexpr std::uint32_t kMaxConstrained = 192;  ///< directions in which a deconvolution is held down

/// What coefficients are made of signals by.
enum class FitKind : std::uint32_t { copy, csd, csa, opdt };

/// Everything that a fit is told, one flat block.
struct FitParams {
  std::uint32_t volumes;     ///< of a voxel
  std::uint32_t unweighted;  ///< numbers of FitBuffers::unweighted
  std::uint32_t weighted;    ///< numbers of FitBuffers::weighted: of the shell; of a tensor all volumes
  // Of tensors.
  std::uint32_t wls;
  double b_scale;          ///< that the design's b values are divided by
  double min_diffusivity;  ///< mm2/s
  // Of spherical harmonics.
  FitKind kind;
  std::uint32_t coefficients;
  std::uint32_t constrained;  ///< directions
  double tau;                 ///< csd: amplitudes below this part of the mean are held down
  double min_signal;          ///< csa, opdt
  // Of amplitudes.
  std::uint32_t directions;
  std::uint32_t stride;  ///< elements of a voxel's amplitudes
};

/// The buffers of a launch; matrices column by column.
struct FitBuffers {
  const std::uint32_t* unweighted;  ///< volumes
  const std::uint32_t* weighted;    ///< volumes
  const double* first;   ///< (volumes, 8) tensor: ordinary least squares; (weighted, coefficients) csd: unconstrained;
                         ///< csa, opdt: QballFit::first
  const double* second;  ///< (volumes, 28) tensor: products of the design; (weighted, coefficients) csd: transposed
                         ///< forward matrix; opdt: QballFit::second
  const double* design;  ///< (volumes, 7) of a tensor
  const double* normal;  ///< csd: packed
  const double* constraint;       ///< (coefficients, kMaxConstrained) csd
  const double* constraint_rows;  ///< (constrained, coefficients) csd: the same row by row
  const double* sampling;         ///< (coefficients, directions) amplitudes of coefficients
  const PackedPlace* places;      ///< of the elements of a matrix that is factored
};

/// What a team shares; for at most N coefficients.
template <std::uint32_t N>
struct FitScratch {
  static constexpr std::uint32_t kCoefficients = N;
  double matrix[packed_size(N)];
  double inverse[N], z[N], f[N], x[N];
  double amplitude[kMaxConstrained];
  std::uint16_t changed[kMaxConstrained];  ///< 2 times a row of the constraint; odd: it is taken in
  std::uint8_t state[kMaxConstrained];     ///< of a row: bit 0: it is held down, bit 1: it should be
};

/// A team's room in memory that is slower than the scratch: numbers.
PENSTOCK_HD constexpr std::uint64_t fit_room(const FitParams& p) {
  return packed_size(p.coefficients) + 2 * std::uint64_t{p.volumes};
}

/// Mean of the unweighted signals, each at least `least`; uniform.
PENSTOCK_HD float mean_unweighted(const FitParams& p, const FitBuffers& in, const float* signal, double least) {
  double sum = 0;
  for (std::uint32_t i = 0; i < p.unweighted; ++i) {
    const auto s = static_cast<double>(signal[in.unweighted[i]]);
    sum += s > least ? s : least;
  }
  return static_cast<float>(sum / static_cast<double>(p.unweighted));
}

}  // namespace penstock::tracto

// The diffusion tensor of a voxel by least squares.
#pragma once
#include <array>
#include <span>

#include "penstock/tracto.hpp"
#include "tracto/fit/fitter.hpp"
#include "tracto/gradients/gradients.hpp"

namespace penstock::tracto {

struct Tensor3 {
  std::array<double, 3> evals = {};                 ///< mm2/s, largest first, not negative
  std::array<std::array<double, 3>, 3> evecs = {};  ///< evecs[i] belongs to evals[i]
  [[nodiscard]] double fa() const;                  ///< fractional anisotropy, 0 to 1
  [[nodiscard]] double md() const;                  ///< mean diffusivity
};

/// Fits ln S = X beta with weights exp(2 X beta_ols), as DIPY's TensorModel does ("WLS"; Chung et al. 2006).
class TensorFit {
 public:
  explicit TensorFit(const Gradients& gradients, TensorMethod method = TensorMethod::wls);
  [[nodiscard]] const FitTables& tables() const { return tables_; }
  /// Of a voxel.  `signal`: one number for each volume; those below 1e-4, and NaN, count as 1e-4.
  [[nodiscard]] Tensor3 fit(std::span<const float> signal) const;

 private:
  FitTables tables_;
};

/// A tensor of FitVoxels.
Tensor3 tensor_of(const double* twelve);

}  // namespace penstock::tracto

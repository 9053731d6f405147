// Options that `track` and `dwi fit` share: gradients, and what is fitted to a voxel.
#pragma once
#include "cli/track/fields.hpp"
#include "penstock/tracto.hpp"

namespace penstock::cli {

inline void declare_gradients(Usage& usage, FieldOptions& fields, TrackOptions& how) {
  fields.add_path(usage, "--bval", "FILE", how.bval, "b values in s/mm2; default NAME.bval beside NAME.nii");
  fields.add_path(usage, "--bvec", "FILE", how.bvec, "gradient vectors, 3 x N or N x 3; default NAME.bvec");
  fields.add_choice(usage, "--gradients", "F", how.gradients, {"voxel", "fsl", "world"}, parse_gradient_frame,
                    "axes of the vectors: voxel (as they stand, as DIPY), fsl (x turned where the transformation has a "
                    "positive determinant) or world (as MRtrix); default voxel");
  fields.add(usage, "--b0-threshold", "B", how.b0_threshold, "volumes up to this b value are unweighted; default 50");
}

inline void declare_model(Usage& usage, FieldOptions& fields, TrackOptions& how) {
  fields.add_choice(usage, "--fit", "F", how.fit, {"wls", "ols"}, parse_tensor_method,
                    "the tensor by weighted or ordinary least squares of the logarithms; default wls");
  fields.add(usage, "--shell", "B", how.shell,
             "b value of the shell to fit (not of dti); default that of most volumes");
  fields.add(usage, "--sh-order", "N", how.sh_order,
             "order of the spherical harmonics, even; default 8, of csa and opdt 4");
  fields.add_choice(
      usage, "--response", "R", how.response, {}, parse_response,
      "csd: auto, or L1,L2,S0: diffusivities along and across a fibre in mm2/s, signal without weighting");
  fields.add(usage, "--response-fa", "FA", how.response_fa, "csd: the response is of voxels above; default 0.7");
  fields.add(usage, "--response-radius", "N", how.response_radius,
             "csd: half width in voxels of the box about the centre that they lie in; default 10");
  fields.add(usage, "--smooth", "W", how.smooth, "csa, opdt: weight of the Laplace-Beltrami penalty; default 0.006");
  fields.add(usage, "--min-signal", "S", how.min_signal, "csa, opdt: lower signals count as this; default 1");
}

}  // namespace penstock::cli

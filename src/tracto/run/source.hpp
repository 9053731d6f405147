// What is tracked: a model that is fitted to signals, or coefficients that were fitted before.
#pragma once
#include "tracto/run/prepare.hpp"
#include "tracto/run/stages.hpp"

namespace penstock::tracto {

struct Source {
  Volume volume;        ///< signals, or coefficients
  Gradients gradients;  ///< of signals
  ModelPlan plan;
  FitTables tables;         ///< a voxel of `volume` -> coefficients; none for the bootstrap
  std::vector<float> stop;  ///< the map that ends streamlines, the mask applied
};

/// By what `dwi` is: a diffusion volume, a folder of fit_dwi, or, with how.sh_basis, an image of coefficients.
/// Errors: those of `track`.
Result<Source> load_source(Job& job, Fitter& fitter, const std::string& dwi, const TrackOptions& how,
                           const Options& options, Stages& stages, TrackSummary& summary);

}  // namespace penstock::tracto

// NIfTI files in a store.
#pragma once
#include "format/entry.hpp"

namespace penstock {

/// A single-file NIfTI (.nii).  Errors: those of parse_nifti with the key in front.
Result<std::optional<NodeInfo>> open_nifti(Candidate& candidate);

}  // namespace penstock

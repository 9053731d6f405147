// NIfTI files in a store.
#pragma once
#include <array>

#include "format/entry.hpp"

namespace penstock {

inline constexpr std::array<std::string_view, 1> kNiftiSuffixes = {".nii"};
/// "NIfTI-1"
std::string nifti_title(int version);

/// A single-file NIfTI (.nii).  Errors: those of parse_nifti with the key in front.
Result<std::optional<NodeInfo>> open_nifti(Candidate& candidate);

}  // namespace penstock

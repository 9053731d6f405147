// NIfTI files in a store.
#pragma once
#include <array>

#include "format/entry.hpp"

namespace penstock {

inline constexpr std::array<std::string_view, 4> kNiftiSuffixes = {".nii", ".nii.gz", ".hdr", ".img"};
/// "NIfTI-1"
std::string nifti_title(int version);

/// A single file (.nii; .nii.gz in a store that is seen through gzip), or either of a pair (.hdr and .img).  Errors:
/// those of parse_nifti with the key in front; not_found (the other of a pair).
Result<std::optional<NodeInfo>> open_nifti(Candidate& candidate);

}  // namespace penstock

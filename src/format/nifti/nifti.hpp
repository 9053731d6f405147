// NIfTI-1 and NIfTI-2 headers -> Dataset.  https://nifti.nimh.nih.gov/nifti-1/ and /nifti-2/
#pragma once
#include <cstdint>
#include <string_view>

#include "penstock/dataset.hpp"

namespace penstock {

/// Bytes at the beginning of a file that hold a header of either version.
inline constexpr std::uint64_t kNiftiHeaderBytes = 540;

/// Whether these first bytes of a file are a NIfTI header, in either byte order.
bool is_nifti_header(ByteView head);
/// Whether it is one whose data lie in a file of their own (.hdr and .img).
bool is_nifti_pair(ByteView head);
/// The volume whose data are in the file of `file_bytes` bytes at `key`, the header's own or the .img beside: shape (x,
/// y, z, t, ...) as NiBabel indexes it, the first dimension fastest in the file, cut into slabs.  Elements are as
/// stored: `scl_slope` and `scl_inter` are in the attributes and not applied. Errors: invalid_metadata naming the field
/// (sizes, offset, type, affine), unsupported (type by name), corrupt_data (the file ends before its data).
Result<Dataset> parse_nifti(ByteView head, std::string_view key, std::uint64_t file_bytes);

}  // namespace penstock

// The formats that penstock knows.  list.cpp is the one place where a format is registered.
#pragma once
#include <span>

#include "format/entry.hpp"

namespace penstock {

/// All formats, in the order in which they are asked.
std::span<const FormatEntry> format_list();
/// What penstock reads, for messages: "zarr and uncompressed NIfTI (.nii)".
std::string formats_read();

}  // namespace penstock

// The formats that penstock knows.  list.cpp is the one place where a format is registered.
#pragma once
#include <span>

#include "format/entry.hpp"

namespace penstock {

/// All formats, in the order in which they are asked.
std::span<const FormatEntry> format_list();
/// Whether a new node of zarr may have this name.  Errors: unsupported (it ends as a file of another format: programs
/// would take the directory for one).
Status check_zarr_name(std::string_view url);
/// What penstock reads, for messages: "zarr and uncompressed NIfTI (.nii)".
std::string formats_read();

}  // namespace penstock

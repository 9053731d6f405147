// Zarr metadata that did not come from a store of ours.
#pragma once
#include <string_view>

#include "penstock/api.hpp"
#include "penstock/dataset.hpp"

namespace penstock {

/// The array of a metadata document: `zarr_format` 2: of .zarray (whose attributes stand elsewhere: there are none),
/// 3: of zarr.json.  It is one that can be read: its codecs exist and fit its chunks.  Errors: invalid_argument (a
/// group's document), those of opening an array.
PENSTOCK_API Result<Dataset> parse_zarr_array(int zarr_format, std::string_view document);

/// Whether a new node of zarr may have this name.  Errors: unsupported (it ends as a file of another format: programs
/// would take the directory for one).
PENSTOCK_API Status check_zarr_name(std::string_view url);

}  // namespace penstock

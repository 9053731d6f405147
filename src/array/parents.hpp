// The groups that a new node is in.
#pragma once
#include <string>

#include "penstock/control.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// Nothing can stand below an array: it would lie among its chunks.  `path` is in the store, whose own directory may be
/// below one too.  Errors: already_exists, those of the store.
Status check_not_below_array(const Store& store, const std::string& path);
/// Groups above `path` are written where they are missing; an array above it is an error.
/// `cancel` ends the wait for others who write there.
Status make_parents(Store& store, const std::string& path, int zarr_format,
                    const CancelToken& cancel = CancelToken::never());

}  // namespace penstock

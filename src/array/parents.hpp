// The groups that a new node is in.
#pragma once
#include <string>

#include "penstock/store.hpp"

namespace penstock {

/// Groups above `path` are written where they are missing; an array above it is an error.
Status make_parents(Store& store, const std::string& path, int zarr_format);

}  // namespace penstock

// What xarray keeps beside an array, in the form of each zarr version.
// https://docs.xarray.dev/en/stable/internals/zarr-encoding-spec.html
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "penstock/dataset.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Turns an array with named dimensions from the form that it has in the other zarr version into that of
/// `dataset.format.version`.  In v2 the names are the attribute `_ARRAY_DIMENSIONS`, and the fill value marks what is
/// missing; in v3 the names are in the metadata, and what is missing is the attribute `_FillValue`.
/// A fill value of text, bytes or another type that xarray knows no attribute for is not carried to v3.
Status translate_xarray(Dataset& dataset);
/// The element that the attributes say is missing (`_FillValue`), in the spelling of either version; nullopt: none, or
/// no number of this type.
std::optional<std::vector<std::byte>> missing_value(const DType& dtype, const Json& attributes);
/// Says in the attributes, as in v3, that `nodata` is missing.
Status tell_missing(Dataset& dataset);
/// What translate_xarray cannot carry of this array into the other zarr version, as a line; empty: nothing is lost.
std::string lost_for_xarray(const Dataset& from, int zarr_format);

}  // namespace penstock

// How the keys of a GeoTIFF project: the methods of its specification as PROJ knows them.
#pragma once
#include <string>

#include "core/json.hpp"
#include "format/proj.hpp"
#include "format/tiff/geo_keys.hpp"

namespace penstock::tiff {

/// Units of a system, as PROJJSON.
struct Units {
  Json linear, angular;
};

/// A projection and its axes, as members of a projected system in PROJJSON.
struct Projection {
  Json conversion, coordinate_system;
};

/// By the method of key ProjMethod and its parameters, on an ellipsoid or a sphere: some methods are others there.
/// Errors: unsupported (a method that PROJ does not know), invalid_metadata (a parameter that is missing or no number),
/// both naming the key.
Result<Projection> projection_by_method(const KeyReader& keys, const Units& units, bool on_a_sphere,
                                        const proj::Register& known);

/// The same back: ProjMethod and its parameters of a projected system in PROJJSON, of angles in degrees.  Errors:
/// unsupported (a method or parameter that keys have no words for).
Status put_method(const Json& system, bool on_a_sphere, const proj::Register& known, KeyMaker& keys);

}  // namespace penstock::tiff

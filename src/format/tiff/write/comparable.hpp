// Systems in PROJJSON that mean the same, put into the same words before they are compared.
#pragma once
#include <optional>

#include "core/json.hpp"
#include "format/proj.hpp"

namespace penstock::tiff {

/// With what the database has in place of parts with a code of EPSG, which texts of another version of it say otherwise
/// (members of an ensemble of datums); a code that another ellipsoid stands beside is dropped.
Json with_known_parts(Json system, const proj::Register& known);
/// In the words that PROJ had before 9.5 for methods that EPSG has since given codes of their own; nullopt: as it is.
std::optional<Json> in_older_words(const Json& system);
/// Without what no key says and no coordinate depends on: how a text writes the name of a datum without a code, and the
/// angles of a system that is projected from.
Json comparable(Json system);

}  // namespace penstock::tiff

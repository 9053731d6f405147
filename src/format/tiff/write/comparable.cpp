#include "format/tiff/write/comparable.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <string_view>

#include "core/json_text.hpp"
#include "format/tiff/crs.hpp"
#include "format/tiff/geo_keys.hpp"

namespace penstock::tiff {
namespace {

/// Applies `change` to each system of which this one is made, that of a projection too.
template <class Change>
void for_parts(Json& system, const Change& change) {
  for (const char* const name : {"base_crs", "source_crs"})
    if (const auto part = system.find(name); part != system.end() && part->is_object()) change(*part, name);
  if (const auto parts = system.find("components"); parts != system.end() && parts->is_array())
    for (Json& part : *parts)
      if (part.is_object()) change(part, "components");
}

Json* datum_of(Json& geodetic) {
  for (const char* const name : {"datum", "datum_ensemble"})
    if (const auto found = geodetic.find(name); found != geodetic.end() && found->is_object()) return &*found;
  return nullptr;
}

std::optional<double> axis_of(Json geodetic) {
  const Json* const datum = datum_of(geodetic);
  const Json ellipsoid = datum != nullptr ? datum->value("ellipsoid", Json()) : Json();
  if (!ellipsoid.is_object()) return std::nullopt;
  const Json axis = ellipsoid.value(ellipsoid.contains("radius") ? "radius" : "semi_major_axis", Json());
  return axis.is_number() ? std::optional(axis.get<double>()) : std::nullopt;
}

/// Heights have no ellipsoid.
bool is_like(const Json& known, const Json& part) {
  const auto one = axis_of(known), other = axis_of(part);
  return (!one && !other) || (one && other && std::abs(*one - *other) < 1e-3);
}

std::string plain_name(std::string_view text) {
  if (text.starts_with("D_")) text.remove_prefix(2);  // ESRI's
  std::string name(text);
  std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });  // ESRI's have '_' in place of all others
  return name;
}

Json in_degrees() {
  const auto axis = [](const char* name, const char* letter, const char* direction) {
    return Json{{"name", name}, {"abbreviation", letter}, {"direction", direction}, {"unit", "degree"}};
  };
  return {{"subtype", "ellipsoidal"}, {"axis", {axis("Latitude", "lat", "north"), axis("Longitude", "lon", "east")}}};
}

/// Names and codes of EPSG's parameters of a false origin, as those of a natural one.
struct Renamed {
  std::uint32_t from, to;
  const char* name;
};
constexpr Renamed kNaturalOrigin[] = {{8821, 8801, "Latitude of natural origin"},
                                      {8822, 8802, "Longitude of natural origin"},
                                      {8826, 8806, "False easting"},
                                      {8827, 8807, "False northing"}};

void rename(Json& parameters) {
  for (Json& parameter : parameters)
    for (const Renamed& row : kNaturalOrigin) {
      if (epsg_of(parameter) != row.from) continue;
      parameter["name"] = row.name;
      parameter["id"]["code"] = row.to;
      break;
    }
}

}  // namespace

Json with_known_parts(Json system, const proj::Register& known) {
  for_parts(system, [&](Json& part, const char*) {
    if (const auto code = epsg_of(part)) {
      const auto entry = known.entry(proj::Kind::crs, *code);
      if (entry && is_like(*entry, part))
        part = *entry;
      else
        part.erase("id");
    } else {
      part = with_known_parts(part, known);
    }
  });
  return system;
}

std::optional<Json> in_older_words(const Json& system) {
  constexpr std::uint32_t kAzimuthalEquidistant = 1125, kEquidistantConic = 1119;
  Json older = system;
  bool changed = false;
  for_parts(older, [&](Json& part, const char*) {
    if (auto found = in_older_words(part)) part = *std::move(found), changed = true;
  });
  const auto conversion = older.find("conversion");
  if (conversion == older.end() || !conversion->contains("method"))
    return changed ? std::optional(older) : std::nullopt;
  Json& method = (*conversion)["method"];
  const auto code = epsg_of(method);
  if (code == kAzimuthalEquidistant) {
    method = {{"name", "Modified Azimuthal Equidistant"}, {"id", {{"authority", "EPSG"}, {"code", 9832}}}};
  } else if (code == kEquidistantConic) {
    method.erase("id");
    rename((*conversion)["parameters"]);
  } else if (!changed) {
    return std::nullopt;
  }
  return older;
}

Json comparable(Json system) {
  for_parts(system, [](Json& part, const char* name) {
    part = comparable(std::move(part));
    if (std::string_view(name) == "base_crs" && part.contains("coordinate_system") &&
        is_text(part["coordinate_system"].value("subtype", Json()), "ellipsoidal") &&
        part["coordinate_system"].value("axis", Json::array()).size() == 2)
      part["coordinate_system"] = in_degrees();
  });
  Json* const datum = datum_of(system);
  if (datum != nullptr && !epsg_of(*datum))
    if (const auto name = datum->find("name"); name != datum->end() && name->is_string())
      *name = plain_name(name->get_ref<const std::string&>());
  return system;
}

}  // namespace penstock::tiff

#include "format/tiff/crs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/members.hpp"
#include "format/tiff/projection.hpp"

namespace penstock::tiff {
namespace {

using proj::Kind;

constexpr std::uint16_t kProjectedModel = 1, kGeographicModel = 2, kGeocentricModel = 3;

bool is_projected(const KeyReader& keys) {
  const auto code = keys.value(Key::ProjectedCRS);
  return code.value_or(0) != 0 || keys.value(Key::GTModelType) == kProjectedModel;
}

/// Text of a citation that is a name: neither ESRI's well-known text nor a list of names as GDAL writes it.
std::string name_in(const KeyReader& keys, Key key, std::string_view part) {
  std::string name = keys.part_of_citation(key, part);
  if (!name.empty()) return name;
  std::string all = keys.citation(key);
  const bool is_list = all.find(" = ") != std::string::npos;
  return is_list ? std::string() : all;
}

std::string horizontal_name(const KeyReader& keys) {
  // A system that only a text of ESRI defines says no kind.
  const bool projected = is_projected(keys) || keys.has(Key::ProjectedCitation);
  std::string name =
      projected ? name_in(keys, Key::ProjectedCitation, "PCS Name") : name_in(keys, Key::GeodeticCitation, "GCS Name");
  if (name.empty()) name = name_in(keys, Key::GTCitation, "PCS Name");
  if (name.empty()) name = name_in(keys, Key::GeodeticCitation, "GCS Name");
  return name;
}

/// A unit by its code, by its size, or the one that is meant where nothing is said.
struct UnitKeys {
  Key code, size;
  const char* category;
  const char* type;
  const char* common;
  std::uint16_t common_code, same_code;  ///< two codes of the common one
};
constexpr UnitKeys kAngular{
    Key::GeogAngularUnits, Key::GeogAngularUnitSize, "angular", "AngularUnit", "degree", 9102, 9122};
constexpr UnitKeys kGeodeticLength{
    Key::GeogLinearUnits, Key::GeogLinearUnitSize, "linear", "LinearUnit", "metre", 9001, 9001};
constexpr UnitKeys kProjectedLength{
    Key::ProjLinearUnits, Key::ProjLinearUnitSize, "linear", "LinearUnit", "metre", 9001, 9001};
constexpr UnitKeys kVerticalLength{Key::VerticalUnits, Key{}, "linear", "LinearUnit", "metre", 9001, 9001};

Result<Json> unit_of(const KeyReader& keys, const UnitKeys& of, const std::string& name, const proj::Register& known) {
  const std::uint16_t code = keys.value(of.code).value_or(0);
  if (code == 0 || code == of.common_code || code == of.same_code) return Json(of.common);
  if (code != kUserDefined) {
    PENSTOCK_ASSIGN_IN(Json unit, known.unit(code, of.category), where(of.code));
    return unit;
  }
  PENSTOCK_ASSIGN(const auto size, keys.number(of.size));
  if (!size || *size <= 0)
    return metadata::invalid(where(of.size), "is missing or not positive: the size of a unit of the file's own");
  return Json{{"type", of.type}, {"name", name.empty() ? "unknown" : name}, {"conversion_factor", *size}};
}

Json with_unit(double value, const Json& unit) {
  return is_text(unit, "metre") || is_text(unit, "degree") ? Json(value) : Json{{"value", value}, {"unit", unit}};
}

Result<double> wanted(const KeyReader& keys, Key key) {
  PENSTOCK_ASSIGN(const auto value, keys.number(key));
  if (!value) return metadata::invalid(where(key), "is missing, which the ellipsoid needs");
  return *value;
}

Result<Json> ellipsoid_of(const KeyReader& keys, const proj::Register& known) {
  const auto code = keys.value(Key::Ellipsoid);
  if (const auto epsg = epsg_code(code)) {
    PENSTOCK_ASSIGN_IN(Json found, known.entry(Kind::ellipsoid, *epsg), where(Key::Ellipsoid));
    return found;
  }
  PENSTOCK_ASSIGN(const Json unit, unit_of(keys, kGeodeticLength, "", known));
  PENSTOCK_ASSIGN(const double major, wanted(keys, Key::EllipsoidSemiMajorAxis));
  if (major <= 0) return metadata::invalid(where(Key::EllipsoidSemiMajorAxis), "an ellipsoid without extent");
  std::string name = keys.part_of_citation(Key::GeodeticCitation, "Ellipsoid");
  Json ellipsoid = {{"name", name.empty() ? "unknown" : name}};
  PENSTOCK_ASSIGN(const auto minor, keys.number(Key::EllipsoidSemiMinorAxis));
  PENSTOCK_ASSIGN(const auto flattening, keys.number(Key::EllipsoidInvFlattening));
  if (flattening ? *flattening == 0 : minor == major) {
    ellipsoid["radius"] = with_unit(major, unit);
    return ellipsoid;
  }
  ellipsoid["semi_major_axis"] = with_unit(major, unit);
  if (flattening) {
    if (*flattening <= 1) return metadata::invalid(where(Key::EllipsoidInvFlattening), "no ellipsoid is that flat");
    ellipsoid["inverse_flattening"] = *flattening;
    return ellipsoid;
  }
  if (!minor) return wanted(keys, Key::EllipsoidInvFlattening).error();
  if (*minor <= 0) return metadata::invalid(where(Key::EllipsoidSemiMinorAxis), "an ellipsoid without extent");
  ellipsoid["semi_minor_axis"] = with_unit(*minor, unit);
  return ellipsoid;
}

/// null: Greenwich.
Result<Json> meridian_of(const KeyReader& keys, const Json& angular, const proj::Register& known) {
  if (const auto epsg = epsg_code(keys.value(Key::PrimeMeridian))) {
    PENSTOCK_ASSIGN_IN(Json found, known.entry(Kind::prime_meridian, *epsg), where(Key::PrimeMeridian));
    return found;
  }
  PENSTOCK_ASSIGN(const auto longitude, keys.number(Key::PrimeMeridianLongitude));
  std::string name = keys.part_of_citation(Key::GeodeticCitation, "Primem");
  if (longitude.value_or(0) == 0 && (name.empty() || name == "Greenwich")) return Json();
  return Json{{"name", name.empty() ? "unknown" : name}, {"longitude", with_unit(longitude.value_or(0), angular)}};
}

Result<Json> datum_of(const KeyReader& keys, const Json& angular, const proj::Register& known) {
  PENSTOCK_ASSIGN(Json meridian, meridian_of(keys, angular, known));
  Json datum;
  if (const auto epsg = epsg_code(keys.value(Key::GeodeticDatum))) {
    PENSTOCK_ASSIGN_IN(datum, known.entry(Kind::datum, *epsg), where(Key::GeodeticDatum));
  } else {
    std::string name = keys.part_of_citation(Key::GeodeticCitation, "Datum");
    datum = {{"type", "GeodeticReferenceFrame"}, {"name", name.empty() ? "unknown" : name}};
    PENSTOCK_ASSIGN(datum["ellipsoid"], ellipsoid_of(keys, known));
  }
  const bool may_have_one = is_text(datum.value("type", Json()), "GeodeticReferenceFrame");
  if (!meridian.is_null() && !may_have_one)
    return metadata::unsupported(where(Key::PrimeMeridian), "a meridian of an ensemble of datums");
  if (!meridian.is_null()) datum["prime_meridian"] = std::move(meridian);
  return datum;
}

Json axis(const char* name, const char* letter, const char* direction, const Json& unit) {
  return {{"name", name}, {"abbreviation", letter}, {"direction", direction}, {"unit", unit}};
}

Result<Json> geodetic_of(const KeyReader& keys, const Json& angular, const proj::Register& known) {
  if (const auto epsg = epsg_code(keys.value(Key::GeodeticCRS))) {
    PENSTOCK_ASSIGN_IN(Json found, known.entry(Kind::crs, *epsg), where(Key::GeodeticCRS));
    return found;
  }
  PENSTOCK_ASSIGN(Json datum, datum_of(keys, angular, known));
  std::string name = name_in(keys, Key::GeodeticCitation, "GCS Name");
  const bool geocentric = keys.value(Key::GTModelType) == kGeocentricModel;
  if (name.empty() && !is_projected(keys)) name = horizontal_name(keys);
  Json system = {{"type", geocentric ? "GeodeticCRS" : "GeographicCRS"}, {"name", name.empty() ? "unknown" : name}};
  const bool is_ensemble = is_text(datum.value("type", Json()), "DatumEnsemble");
  system[is_ensemble ? "datum_ensemble" : "datum"] = std::move(datum);
  Json axes = {axis("Latitude", "lat", "north", angular), axis("Longitude", "lon", "east", angular)};
  if (geocentric) {
    PENSTOCK_ASSIGN(const Json length, unit_of(keys, kGeodeticLength, "", known));
    axes = {axis("Geocentric X", "X", "geocentricX", length), axis("Geocentric Y", "Y", "geocentricY", length),
            axis("Geocentric Z", "Z", "geocentricZ", length)};
  }
  system["coordinate_system"] = {{"subtype", geocentric ? "Cartesian" : "ellipsoidal"}, {"axis", std::move(axes)}};
  return system;
}

Result<Projection> projection_of(const KeyReader& keys, const Units& units, bool on_a_sphere,
                                 const proj::Register& known) {
  const auto epsg = epsg_code(keys.value(Key::Projection));
  if (!epsg) return projection_by_method(keys, units, on_a_sphere, known);
  PENSTOCK_ASSIGN_IN(Json found, known.entry(Kind::operation, *epsg), where(Key::Projection));
  if (!is_text(found.value("type", Json()), "Conversion"))
    return metadata::unsupported(where(Key::Projection), fmt::format("EPSG:{} is no projection", *epsg));
  found.erase("type");
  const Json axes = {axis("Easting", "E", "east", units.linear), axis("Northing", "N", "north", units.linear)};
  return Projection{std::move(found), {{"subtype", "Cartesian"}, {"axis", axes}}};
}

Result<Json> projected_of(const KeyReader& keys, const proj::Register& known) {
  if (const auto epsg = epsg_code(keys.value(Key::ProjectedCRS))) {
    PENSTOCK_ASSIGN_IN(Json found, known.entry(Kind::crs, *epsg), where(Key::ProjectedCRS));
    return found;
  }
  Units units;
  PENSTOCK_ASSIGN(units.angular,
                  unit_of(keys, kAngular, keys.part_of_citation(Key::GeodeticCitation, "AUnits"), known));
  PENSTOCK_ASSIGN(units.linear,
                  unit_of(keys, kProjectedLength, keys.part_of_citation(Key::ProjectedCitation, "LUnits"), known));
  PENSTOCK_ASSIGN(Json base, geodetic_of(keys, units.angular, known));
  PENSTOCK_ASSIGN(Projection projection, projection_of(keys, units, is_spherical(base), known));
  const std::string name = horizontal_name(keys);
  return Json{{"type", "ProjectedCRS"},
              {"name", name.empty() ? "unknown" : name},
              {"base_crs", std::move(base)},
              {"conversion", std::move(projection.conversion)},
              {"coordinate_system", std::move(projection.coordinate_system)}};
}

/// The well-known text of a system that keys have no words for, as GDAL and ESRI write it; empty: none.
Result<std::string> esri_text(const KeyReader& keys) {
  for (const Key key : {Key::ProjectedCitation, Key::GTCitation, Key::GeodeticCitation}) {
    std::string text = keys.citation(key);
    if (!text.starts_with(kEsriText)) continue;
    text.erase(0, kEsriText.size());
    // Strings of PROJ in it may name files.
    if (text.find("EXTENSION") != std::string::npos)
      return metadata::unsupported(where(key), "well-known text of ESRI with an EXTENSION, which it does not have");
    return text;
  }
  return std::string();
}

Result<Json> horizontal_of(const KeyReader& keys, const proj::Register& known) {
  const bool has_code =
      epsg_code(keys.value(Key::ProjectedCRS)) || (!is_projected(keys) && epsg_code(keys.value(Key::GeodeticCRS)));
  const bool has_method =
      keys.value(Key::ProjMethod).value_or(kUserDefined) != kUserDefined || epsg_code(keys.value(Key::Projection));
  if (!has_code && !has_method) {
    PENSTOCK_ASSIGN(const std::string text, esri_text(keys));
    if (!text.empty()) return known.of_wkt(text);
  }
  if (is_projected(keys)) return projected_of(keys, known);
  const auto model = keys.value(Key::GTModelType);
  if (!keys.has(Key::GeodeticCRS) && model != kGeographicModel && model != kGeocentricModel)
    return metadata::unsupported(where(Key::GTModelType),
                                 fmt::format("{}: a system of a kind that is not defined", model.value_or(0)));
  PENSTOCK_ASSIGN(const Json angular,
                  unit_of(keys, kAngular, keys.part_of_citation(Key::GeodeticCitation, "AUnits"), known));
  return geodetic_of(keys, angular, known);
}

Json parameter(const char* name, double value, const char* unit, std::uint32_t code) {
  return {{"name", name}, {"value", value}, {"unit", unit}, {"id", {{"authority", "EPSG"}, {"code", code}}}};
}

/// A system with how its coordinates become those of WGS 84.
Result<Json> bound(Json system, const std::vector<double>& shift, const proj::Register& known) {
  if (shift.size() != 3 && shift.size() != 7)
    return metadata::invalid(where(Key::GeogTOWGS84), fmt::format("{} numbers, where there are 3 or 7", shift.size()));
  const bool turned = shift.size() == 7;
  const Json arcsecond = {{"type", "AngularUnit"}, {"name", "arc-second"}, {"conversion_factor", 4.84813681109536e-06}};
  const Json million = {{"type", "ScaleUnit"}, {"name", "parts per million"}, {"conversion_factor", 1e-06}};
  Json parameters = {parameter("X-axis translation", shift[0], "metre", 8605),
                     parameter("Y-axis translation", shift[1], "metre", 8606),
                     parameter("Z-axis translation", shift[2], "metre", 8607)};
  if (turned) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      Json turn = parameter("", shift[3 + i], "", 8608 + i);
      turn["name"] = fmt::format("{}-axis rotation", "XYZ"[i]);
      turn["unit"] = arcsecond;
      parameters.push_back(std::move(turn));
    }
    parameters.push_back(parameter("Scale difference", shift[6], "", 8611));
    parameters.back()["unit"] = million;
  }
  PENSTOCK_ASSIGN(Json target, known.entry(Kind::crs, 4326));
  Json method = {
      {"name", turned ? "Position Vector transformation (geog2D domain)" : "Geocentric translations (geog2D domain)"},
      {"id", {{"authority", "EPSG"}, {"code", turned ? 9606 : 9603}}}};
  return Json{{"type", "BoundCRS"},
              {"source_crs", std::move(system)},
              {"target_crs", std::move(target)},
              {"transformation",
               {{"name", "Transformation to WGS84"}, {"method", std::move(method)}, {"parameters", parameters}}}};
}

Result<Json> vertical_of(const KeyReader& keys, const proj::Register& known) {
  const std::uint16_t code = keys.value(Key::Vertical).value_or(0);
  if (const auto epsg = epsg_code(code)) {
    PENSTOCK_ASSIGN_IN(Json found, known.entry(Kind::crs, *epsg), where(Key::Vertical));
    return found;
  }
  Json datum = {{"type", "VerticalReferenceFrame"}, {"name", "unknown"}};
  if (const auto epsg = epsg_code(keys.value(Key::VerticalDatum))) {
    PENSTOCK_ASSIGN_IN(datum, known.entry(Kind::datum, *epsg), where(Key::VerticalDatum));
  }
  PENSTOCK_ASSIGN(const Json unit, unit_of(keys, kVerticalLength, "", known));
  const std::string name = keys.citation(Key::VerticalCitation);
  return Json{{"type", "VerticalCRS"},
              {"name", name.empty() ? "unknown" : name},
              {"datum", std::move(datum)},
              {"coordinate_system",
               {{"subtype", "vertical"}, {"axis", Json::array({axis("Gravity-related height", "H", "up", unit)})}}}};
}

}  // namespace

bool is_spherical(const Json& geodetic) {
  const Json datum = geodetic.value(geodetic.contains("datum") ? "datum" : "datum_ensemble", Json::object());
  const Json ellipsoid = datum.value("ellipsoid", Json::object());
  return ellipsoid.contains("radius") || (ellipsoid.contains("semi_minor_axis") &&
                                          ellipsoid["semi_minor_axis"] == ellipsoid.value("semi_major_axis", Json()));
}

std::optional<std::uint32_t> epsg_of(const Json& part) {
  const Json id = part.is_object() ? part.value("id", Json()) : Json();
  if (!id.is_object() || !is_text(id.value("authority", Json()), "EPSG")) return std::nullopt;
  const Json code = id.value("code", Json());
  return code.is_number_unsigned() ? epsg_code(code.get<std::uint64_t>()) : std::nullopt;
}

GeoKeys without_raster_type(GeoKeys keys) {
  std::vector<std::uint16_t>& all = keys.directory;
  for (std::size_t at = 4; at + 4 <= all.size();) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    if (all[at] != static_cast<std::uint16_t>(Key::GTRasterType)) {
      at += 4;
      continue;
    }
    all.erase(begin, begin + 4);
    --all[3];
  }
  return keys;
}

std::optional<Crs> crs_of(const GeoKeys& all) {
  const KeyReader keys(all);
  const std::uint64_t projected = keys.value(Key::ProjectedCRS).value_or(0);
  const std::uint64_t geodetic = keys.value(Key::GeodeticCRS).value_or(0);
  if (projected == 0 && geodetic == 0 && !keys.define_a_system()) return std::nullopt;
  Crs crs;
  crs.epsg = epsg_code(is_projected(keys) ? projected : geodetic);
  crs.vertical_epsg = epsg_code(keys.value(Key::Vertical));
  crs.name = horizontal_name(keys);
  const bool vertical_by_parameters = keys.value(Key::Vertical).value_or(0) != 0 && !crs.vertical_epsg;
  if (!crs.epsg || vertical_by_parameters) crs.keys = without_raster_type(all);
  return crs;
}

const GeoKeys* defining_keys(const Crs& crs) {
  if (!crs.keys) return nullptr;
  const std::optional<Crs> defined = crs_of(*crs.keys);
  return defined && defined->epsg == crs.epsg ? &*crs.keys : nullptr;
}

Result<Json> with_heights(const std::string& name, Json horizontal, Json vertical) {
  const auto name_of = [](const Json& system) { return system.value("name", std::string("unknown")); };
  const auto type_is = [](const Json& system, const char* type) { return is_text(system.value("type", Json()), type); };
  if (type_is(vertical, "GeographicCRS") && type_is(horizontal, "GeographicCRS") &&
      vertical.value("coordinate_system", Json::object()).value("axis", Json::array()).size() == 3)
    return vertical;
  if (!type_is(vertical, "VerticalCRS"))
    return metadata::unsupported(where(Key::Vertical), fmt::format("{} is no vertical system", name_of(vertical)));
  const std::string both = fmt::format("{} + {}", name_of(horizontal), name_of(vertical));
  return Json{{"type", "CompoundCRS"},
              {"name", name.empty() ? both : name},
              {"components", Json::array({std::move(horizontal), std::move(vertical)})}};
}

Result<Json> system_of(const GeoKeys& all, const proj::Register& known) {
  const KeyReader keys(all);
  PENSTOCK_ASSIGN(Json system, horizontal_of(keys, known));
  if (keys.has(Key::GeogTOWGS84)) {
    PENSTOCK_ASSIGN(const auto shift, keys.numbers(Key::GeogTOWGS84));
    PENSTOCK_ASSIGN(system, bound(std::move(system), shift, known));
  }
  if (keys.value(Key::Vertical).value_or(0) == 0) return system;
  PENSTOCK_ASSIGN(Json vertical, vertical_of(keys, known));
  return with_heights(name_in(keys, Key::GTCitation, "PCS Name"), std::move(system), std::move(vertical));
}

}  // namespace penstock::tiff

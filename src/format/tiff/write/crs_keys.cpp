// Keys of a GeoTIFF that define a coordinate reference system.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "core/json_text.hpp"
#include "format/tiff/crs.hpp"
#include "format/tiff/projection.hpp"
#include "format/tiff/write/comparable.hpp"

namespace penstock::tiff {
namespace {

Json part(const Json& object, const char* name) { return object.is_object() ? object.value(name, Json()) : Json(); }

std::string text(const Json& object, const char* name) {
  const Json found = part(object, name);
  return found.is_string() ? found.get<std::string>() : std::string();
}

/// A number in units of the base unit, or as it stands.
std::optional<double> number(const Json& object, const char* name) {
  const Json found = part(object, name), value = found.is_object() ? part(found, "value") : found;
  const Json unit = part(found, "unit");
  if (!value.is_number()) return std::nullopt;
  constexpr double kDegree = 0.017453292519943295;
  if (!unit.is_object()) return value.get<double>();
  const double factor = unit.value("conversion_factor", 1.0);
  return value.get<double>() * (text(unit, "type") == "AngularUnit" ? factor / kDegree : factor);
}

constexpr std::string_view kGeocentric = "GeodeticCRS";

Error no_words(const std::string& what) {
  return {ErrorCode::unsupported, fmt::format("keys of GeoTIFF have no words for {}", what)};
}

Json datum_of(const Json& geodetic) { return part(geodetic, geodetic.contains("datum") ? "datum" : "datum_ensemble"); }

Status put_geodetic(const Json& system, KeyMaker& keys) {
  const std::string type = text(system, "type");  // PROJ leaves it out where it can be nothing else
  if (!type.empty() && type != "GeographicCRS" && type != kGeocentric) return no_words("a system of type " + type);
  if (const auto epsg = epsg_of(system)) {
    keys.code(Key::GeodeticCRS, *epsg);
    return {};
  }
  const Json datum = datum_of(system), ellipsoid = part(datum, "ellipsoid"), meridian = part(datum, "prime_meridian");
  const bool is_radius = ellipsoid.contains("radius");
  const auto major = number(ellipsoid, is_radius ? "radius" : "semi_major_axis");
  const auto minor = is_radius ? major : number(ellipsoid, "semi_minor_axis");
  const auto flattening = number(ellipsoid, "inverse_flattening");
  if (!major || (!minor && !flattening)) return no_words("its ellipsoid");
  keys.code(Key::GeodeticCRS, kUserDefined);
  std::string citation = fmt::format("GCS Name = {}", text(system, "name"));
  keys.code(Key::GeodeticDatum, epsg_of(datum).value_or(kUserDefined));
  citation += fmt::format("|Datum = {}", text(datum, "name"));
  keys.code(Key::GeogAngularUnits, 9102);
  keys.code(Key::Ellipsoid, epsg_of(ellipsoid).value_or(kUserDefined));
  citation += fmt::format("|Ellipsoid = {}", text(ellipsoid, "name"));
  keys.numbers(Key::EllipsoidSemiMajorAxis, {*major});
  if (flattening)
    keys.numbers(Key::EllipsoidInvFlattening, {*flattening});
  else
    keys.numbers(Key::EllipsoidSemiMinorAxis, {*minor});
  citation += fmt::format("|Primem = {}|", meridian.is_object() ? text(meridian, "name") : "Greenwich");
  keys.numbers(Key::PrimeMeridianLongitude, {number(meridian, "longitude").value_or(0)});
  keys.text(Key::GeodeticCitation, citation);
  return {};
}

Status put_length(const Json& system, KeyMaker& keys) {
  const Json axes = part(part(system, "coordinate_system"), "axis");
  const Json unit = axes.is_array() && !axes.empty() ? part(axes.front(), "unit") : Json();
  if (is_text(unit, "metre")) {
    keys.code(Key::ProjLinearUnits, 9001);
    return {};
  }
  const auto size = number(unit, "conversion_factor");
  if (!size) return no_words("its unit of length");
  const auto epsg = epsg_of(unit);
  keys.code(Key::ProjLinearUnits, epsg.value_or(kUserDefined));
  if (epsg) return {};
  keys.numbers(Key::ProjLinearUnitSize, {*size});
  keys.text(Key::ProjectedCitation, fmt::format("LUnits = {}", text(unit, "name")));
  return {};
}

/// By keys.
Status put_horizontal(const Json& system, const proj::Register& known, KeyMaker& keys) {
  keys.text(Key::GTCitation, text(system, "name"));
  if (const std::string type = text(system, "type"); type != "ProjectedCRS") {
    keys.code(Key::GTModelType, type == kGeocentric ? 3 : 2);
    return put_geodetic(system, keys);
  }
  keys.code(Key::GTModelType, 1);
  keys.code(Key::ProjectedCRS, epsg_of(system).value_or(kUserDefined));
  if (epsg_of(system)) return {};
  const Json base = part(system, "base_crs");
  PENSTOCK_TRY(put_geodetic(base, keys));
  keys.code(Key::Projection, kUserDefined);
  PENSTOCK_TRY(put_length(system, keys));
  return put_method(system, is_spherical(base), known, keys);
}

/// What stands behind the word PROJECTION; empty: it does not project.
std::string_view method_in(std::string_view esri) {
  constexpr std::string_view kBegin = "PROJECTION[\"";
  const std::size_t at = esri.find(kBegin);
  if (at == std::string_view::npos) return {};
  esri.remove_prefix(at + kBegin.size());
  return esri.substr(0, esri.find('"'));
}

/// By a text of ESRI, as GDAL does where keys have no words.
Status put_text(const Json& system, const proj::Register& known, KeyMaker& keys) {
  const std::string type = text(system, "type");
  if (type != "ProjectedCRS" && type != "GeographicCRS") return no_words("a system of type " + type);
  PENSTOCK_ASSIGN(const std::string esri, known.wkt(system, proj::Text::esri));
  if (esri.find("X_Scale") != std::string::npos) return no_words("axes that are turned (GDAL leaves out X_Scale)");
  if (method_in(esri).find('(') != std::string_view::npos)  // EPSG's name, which PROJ writes where ESRI has none
    return no_words("a method without a name of ESRI's");
  keys.code(Key::GTModelType, kUserDefined);
  keys.text(Key::GTCitation, text(system, "name"));
  keys.text(Key::ProjectedCitation, std::string(kEsriText) + esri);
  return {};
}

Status put_heights(const Json& vertical, KeyMaker& keys) {
  const auto epsg = epsg_of(vertical);
  if (!epsg) return no_words("heights without an EPSG code");
  keys.code(Key::Vertical, *epsg);
  return {};
}

Status put_shift(const Json& transformation, KeyMaker& keys) {
  std::vector<double> numbers;
  for (const Json& parameter : part(transformation, "parameters"))
    if (const Json value = part(parameter, "value"); value.is_number()) numbers.push_back(value.get<double>());
  if (numbers.size() != 3 && numbers.size() != 7) return no_words("its way to WGS 84");
  keys.numbers(Key::GeogTOWGS84, numbers);
  return {};
}

using Put = Status (*)(const Json&, const proj::Register&, KeyMaker&);

Result<GeoKeys> made_by(Put put, const Json& system, const proj::Register& known) {
  KeyMaker keys;
  Json horizontal = system;
  if (const Json components = part(horizontal, "components"); components.is_array() && components.size() == 2) {
    PENSTOCK_TRY(put_heights(components[1], keys));
    horizontal = components[0];
  }
  if (text(horizontal, "type") == "BoundCRS") {
    if (put == put_text) return no_words("a shift to WGS 84 beside a text (GDAL does not read it)");
    PENSTOCK_TRY(put_shift(part(horizontal, "transformation"), keys));
    horizontal = part(horizontal, "source_crs");
  }
  PENSTOCK_TRY(put(horizontal, known, keys));
  PENSTOCK_ASSIGN(GeoKeys made, std::move(keys).make());
  PENSTOCK_ASSIGN(const Json read, system_of(made, known));
  PENSTOCK_ASSIGN(const bool is_same, known.same(comparable(read), comparable(system)));
  if (!is_same) return no_words("all of it: what they say is another system");
  return made;
}

/// Then another way would give other bytes than it gives where there is memory.
bool ran_out(const Result<GeoKeys>& made) { return !made && made.error().code() == ErrorCode::out_of_memory; }

/// PROJ takes such a one, and cannot do with it what it is for.
bool has_unit_without_size(const Json& part) {
  if (part.is_object())
    if (const Json size = part.value("conversion_factor", Json()); size.is_number() && !(size.get<double>() > 0))
      return true;
  return part.is_structured() && std::ranges::any_of(part, has_unit_without_size);
}

/// By keys, or else by a text.
Result<GeoKeys> made_of(const Json& system, const proj::Register& known) {
  Result<GeoKeys> keys = made_by(put_horizontal, system, known);
  if (keys || ran_out(keys)) return keys;
  Result<GeoKeys> of_text = made_by(put_text, system, known);
  if (of_text || ran_out(of_text)) return of_text;
  const std::string &of_keys = keys.error().message(), &more = of_text.error().message();
  if (of_keys == more) return keys;
  return Error(ErrorCode::unsupported, fmt::format("{}; nor can a text of ESRI say it: {}", of_keys, more));
}

}  // namespace

Result<GeoKeys> keys_of(const Json& given, const proj::Register& known) {
  if (has_unit_without_size(given)) return no_words("a unit that is not larger than nothing");
  const Json system = with_known_parts(given, known);
  Result<GeoKeys> keys = made_of(system, known);
  if (keys || ran_out(keys)) return keys;
  if (const auto older = in_older_words(system))
    if (Result<GeoKeys> again = made_of(*older, known); again || ran_out(again)) return again;
  return keys;
}

}  // namespace penstock::tiff

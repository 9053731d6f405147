#include "format/tiff/projection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>
#include <span>

#include "core/json.hpp"
#include "format/members.hpp"

// PROJ makes the method, its parameters and its axes of well-known text as GDAL writes it (WKT 1): these names are the
// same in all of PROJ's versions, while those of EPSG's methods are not.  What they mean is said at
// https://docs.ogc.org/is/19-008r4/19-008r4.html#_map_projection_methods and in the parameters of each projection in
// https://proj.org/en/stable/operations/projections/.

namespace penstock::tiff {
namespace {

/// Where a parameter stands: writers take one key or another of the same meaning.
struct Source {
  std::array<Key, 3> keys{};     ///< the first that is there; unused ones are Key{}
  std::optional<double> absent;  ///< its value where none is; nullopt: that is an error
};

struct Parameter {
  std::string_view name;  ///< in WKT 1
  Source from;
};

struct Method {
  std::uint16_t code;          ///< value of ProjMethod
  std::string_view name, wkt;  ///< in the specification, in WKT 1
  std::span<const Parameter> parameters;
};

constexpr Source kLat{{Key::ProjNatOriginLat, Key::ProjFalseOriginLat, Key::ProjCenterLat}, 0};
constexpr Source kLong{{Key::ProjNatOriginLong, Key::ProjFalseOriginLong, Key::ProjCenterLong}, 0};
constexpr Source kEast{{Key::ProjFalseEasting, Key::ProjFalseOriginEasting, Key::ProjCenterEasting}, 0};
constexpr Source kNorth{{Key::ProjFalseNorthing, Key::ProjFalseOriginNorthing, Key::ProjCenterNorthing}, 0};
constexpr Source kScale{{Key::ProjScaleAtNatOrigin, Key::ProjScaleAtCenter}, 1};
constexpr Source kParallel1{{Key::ProjStdParallel1}, std::nullopt};
constexpr Source kParallel2{{Key::ProjStdParallel2}, std::nullopt};
constexpr Source kAzimuth{{Key::ProjAzimuthAngle}, std::nullopt};
// Methods with a false origin or a center of their own say them first.
constexpr Source kOriginLat{{Key::ProjFalseOriginLat, Key::ProjNatOriginLat, Key::ProjCenterLat}, 0};
constexpr Source kOriginLong{{Key::ProjFalseOriginLong, Key::ProjNatOriginLong, Key::ProjCenterLong}, 0};
constexpr Source kOriginEast{{Key::ProjFalseOriginEasting, Key::ProjFalseEasting, Key::ProjCenterEasting}, 0};
constexpr Source kOriginNorth{{Key::ProjFalseOriginNorthing, Key::ProjFalseNorthing, Key::ProjCenterNorthing}, 0};
constexpr Source kCenterLat{{Key::ProjCenterLat, Key::ProjNatOriginLat, Key::ProjFalseOriginLat}, 0};
constexpr Source kCenterLong{{Key::ProjCenterLong, Key::ProjNatOriginLong, Key::ProjFalseOriginLong}, 0};
constexpr Source kCenterEast{{Key::ProjCenterEasting, Key::ProjFalseEasting, Key::ProjFalseOriginEasting}, 0};
constexpr Source kCenterNorth{{Key::ProjCenterNorthing, Key::ProjFalseNorthing, Key::ProjFalseOriginNorthing}, 0};
constexpr Source kCenterScale{{Key::ProjScaleAtCenter, Key::ProjScaleAtNatOrigin}, 1};
constexpr Source kPoleLong{{Key::ProjStraightVertPoleLong, Key::ProjNatOriginLong, Key::ProjCenterLong}, 0};

constexpr Parameter kNatural[] = {{"latitude_of_origin", kLat},
                                  {"central_meridian", kLong},
                                  {"scale_factor", kScale},
                                  {"false_easting", kEast},
                                  {"false_northing", kNorth}};
constexpr Parameter kNaturalUnscaled[] = {
    {"latitude_of_origin", kLat}, {"central_meridian", kLong}, {"false_easting", kEast}, {"false_northing", kNorth}};
constexpr Parameter kMeridian[] = {
    {"central_meridian", kCenterLong}, {"false_easting", kEast}, {"false_northing", kNorth}};
constexpr Parameter kMillers[] = {{"latitude_of_center", kCenterLat},
                                  {"longitude_of_center", kCenterLong},
                                  {"false_easting", kEast},
                                  {"false_northing", kNorth}};
constexpr Parameter kSinusoid[] = {
    {"longitude_of_center", kCenterLong}, {"false_easting", kEast}, {"false_northing", kNorth}};
constexpr Parameter kCenter[] = {{"latitude_of_center", kCenterLat},
                                 {"longitude_of_center", kCenterLong},
                                 {"false_easting", kEast},
                                 {"false_northing", kNorth}};
constexpr Parameter kCentered[] = {{"latitude_of_origin", kCenterLat},
                                   {"central_meridian", kCenterLong},
                                   {"false_easting", kEast},
                                   {"false_northing", kNorth}};
constexpr Parameter kCenteredScaled[] = {{"latitude_of_origin", kCenterLat},
                                         {"central_meridian", kCenterLong},
                                         {"scale_factor", kScale},
                                         {"false_easting", kEast},
                                         {"false_northing", kNorth}};
constexpr Parameter kTrueScale[] = {{"standard_parallel_1", kParallel1},
                                    {"central_meridian", kLong},
                                    {"false_easting", kEast},
                                    {"false_northing", kNorth}};
constexpr Parameter kEquirectangular[] = {{"standard_parallel_1", {{Key::ProjStdParallel1}, 0}},
                                          {"latitude_of_origin", kCenterLat},
                                          {"central_meridian", kCenterLong},
                                          {"false_easting", kEast},
                                          {"false_northing", kNorth}};
constexpr Parameter kFalseOrigin[] = {{"standard_parallel_1", kParallel1}, {"standard_parallel_2", kParallel2},
                                      {"latitude_of_origin", kOriginLat},  {"central_meridian", kOriginLong},
                                      {"false_easting", kOriginEast},      {"false_northing", kOriginNorth}};
constexpr Parameter kConic[] = {{"standard_parallel_1", kParallel1},
                                {"standard_parallel_2", kParallel2},
                                {"latitude_of_center", kLat},
                                {"longitude_of_center", kLong},
                                {"false_easting", kEast},
                                {"false_northing", kNorth}};
constexpr Parameter kPolar[] = {{"latitude_of_origin", kLat},
                                {"central_meridian", kPoleLong},
                                {"scale_factor", kScale},
                                {"false_easting", kEast},
                                {"false_northing", kNorth}};
constexpr Parameter kOblique[] = {{"latitude_of_center", kCenterLat},
                                  {"longitude_of_center", kCenterLong},
                                  {"azimuth", kAzimuth},
                                  {"rectified_grid_angle", {{Key::ProjRectifiedGridAngle}, std::nullopt}},
                                  {"scale_factor", kCenterScale},
                                  {"false_easting", kCenterEast},
                                  {"false_northing", kCenterNorth}};
constexpr Parameter kLaborde[] = {
    {"latitude_of_center", kCenterLat}, {"longitude_of_center", kCenterLong}, {"azimuth", kAzimuth},
    {"scale_factor", kCenterScale},     {"false_easting", kCenterEast},       {"false_northing", kCenterNorth}};

constexpr Source kRightAngle{{}, 90}, kOne{{}, 1};
constexpr Parameter kSwiss[] = {{"latitude_of_center", kCenterLat},
                                {"longitude_of_center", kCenterLong},
                                {"azimuth", kRightAngle},
                                {"rectified_grid_angle", kRightAngle},
                                {"scale_factor", kOne},
                                {"false_easting", kCenterEast},
                                {"false_northing", kCenterNorth}};

constexpr std::uint16_t kMercator = 7;
constexpr Method kMercatorOfTrueScale{kMercator, "Mercator", "Mercator_2SP", kTrueScale};
constexpr Method kMethods[] = {
    {1, "Transverse Mercator", "Transverse_Mercator", kNatural},
    {3, "Oblique Mercator", "Hotine_Oblique_Mercator", kOblique},
    {4, "Laborde Oblique Mercator", "Laborde_Oblique_Mercator", kLaborde},
    {5, "Rosenmund Oblique Mercator", "Hotine_Oblique_Mercator_Azimuth_Center", kSwiss},
    {kMercator, "Mercator", "Mercator_1SP", kNatural},
    {8, "Lambert Conic Conformal (2SP)", "Lambert_Conformal_Conic_2SP", kFalseOrigin},
    {9, "Lambert Conic Conformal (1SP)", "Lambert_Conformal_Conic_1SP", kNatural},
    {10, "Lambert Azimuthal Equal Area", "Lambert_Azimuthal_Equal_Area", kCenter},
    {11, "Albers Equal Area", "Albers_Conic_Equal_Area", kConic},
    {12, "Azimuthal Equidistant", "Azimuthal_Equidistant", kCenter},
    {13, "Equidistant Conic", "Equidistant_Conic", kConic},
    {14, "Stereographic", "Stereographic", kCenteredScaled},
    {15, "Polar Stereographic", "Polar_Stereographic", kPolar},
    {16, "Oblique Stereographic", "Oblique_Stereographic", kNatural},
    {17, "Equirectangular", "Equirectangular", kEquirectangular},
    {18, "Cassini-Soldner", "Cassini_Soldner", kNaturalUnscaled},
    {19, "Gnomonic", "Gnomonic", kCentered},
    {20, "Miller Cylindrical", "Miller_Cylindrical", kMillers},
    {21, "Orthographic", "Orthographic", kCentered},
    {22, "Polyconic", "Polyconic", kNaturalUnscaled},
    {23, "Robinson", "Robinson", kSinusoid},
    {24, "Sinusoidal", "Sinusoidal", kSinusoid},
    {25, "Van der Grinten", "VanDerGrinten", kMeridian},
    {26, "New Zealand Map Grid", "New_Zealand_Map_Grid", kNaturalUnscaled},
    {27, "Transverse Mercator (South Orientated)", "Transverse_Mercator_South_Orientated", kNatural},
    {28, "Cylindrical Equal Area", "Cylindrical_Equal_Area", kTrueScale},
    {9815, "Hotine Oblique Mercator (variant B)", "Hotine_Oblique_Mercator_Azimuth_Center", kOblique},
};

/// The value of the first key that is there.
Result<double> value_of(const KeyReader& keys, const Source& from) {
  for (const Key key : from.keys) {
    if (key == Key{}) continue;
    PENSTOCK_ASSIGN(const std::optional<double> value, keys.number(key));
    if (value) return *value;
  }
  if (from.absent) return *from.absent;
  return metadata::invalid(where(from.keys.front()), "is missing, which the projection needs");
}

Result<const Method*> method_of(const KeyReader& keys) {
  const auto code = keys.value(Key::ProjMethod);
  if (!code) return metadata::invalid(where(Key::ProjMethod), "is missing: it says how the system projects");
  if (*code == kMercator && keys.has(Key::ProjStdParallel1)) return &kMercatorOfTrueScale;
  const auto* const found = std::ranges::find(kMethods, *code, &Method::code);
  if (found != std::end(kMethods)) return found;
  return metadata::unsupported(where(Key::ProjMethod), fmt::format("{} is no method that PROJ knows", *code));
}

double factor_of(const Json& unit) {
  if (unit.is_object()) return unit["conversion_factor"].get<double>();
  constexpr double kDegree = 0.017453292519943295;
  return unit.get_ref<const std::string&>() == "degree" ? kDegree : 1;
}

/// In quotation marks.
std::string name_of(const Json& unit) {
  std::string name = unit.is_object() ? unit["name"].get<std::string>() : unit.get<std::string>();
  std::erase_if(name, [](char c) { return c == '"' || static_cast<unsigned char>(c) < 0x20; });
  return '"' + name + '"';
}

/// Name and parameters of a projection in WKT 1 whose other names hold no quotation marks.
struct Words {
  std::string method;
  std::vector<std::pair<std::string, double>> parameters;
};

Words words_of(std::string_view wkt) {
  const auto quoted = [&](std::size_t at) { return wkt.substr(at, wkt.find('"', at) - at); };
  constexpr std::string_view kMethod = "PROJECTION[\"", kParameter = "PARAMETER[\"";
  Words words;
  if (const std::size_t at = wkt.find(kMethod); at != std::string_view::npos)
    words.method = quoted(at + kMethod.size());
  for (std::size_t at = wkt.find(kParameter); at != std::string_view::npos; at = wkt.find(kParameter, at + 1)) {
    const std::string_view name = quoted(at + kParameter.size());
    const char* const digits = name.data() + name.size() + 2;  // behind the quotation mark and the comma
    double value = 0;
    if (std::from_chars(digits, wkt.data() + wkt.size(), value).ec == std::errc())
      words.parameters.emplace_back(name, value);
  }
  return words;
}

/// A method may stand in the specification twice: in general, which comes first (GDAL reads the Swiss one otherwise),
/// and with parameters that are fixed.
std::vector<const Method*> methods_of(std::string_view wkt) {
  std::vector<const Method*> found;
  for (const Method& method : std::views::reverse(kMethods))
    if (method.wkt == wkt) found.push_back(&method);
  if (wkt == kMercatorOfTrueScale.wkt) found.push_back(&kMercatorOfTrueScale);
  return found;
}

/// What the keys of a method hold.  Errors: unsupported (a parameter that it does not have, or has fixed).
Result<std::vector<std::pair<Key, double>>> numbers_of(const Method& method, const Words& words) {
  std::vector<std::pair<Key, double>> numbers;
  for (const auto& [name, value] : words.parameters) {
    const auto found = std::ranges::find(method.parameters, name, &Parameter::name);
    const bool is_said = found != method.parameters.end();
    if (is_said && found->from.keys.front() != Key{})
      numbers.emplace_back(found->from.keys.front(), value);
    else if (value != (is_said ? found->from.absent.value_or(0) : 0))
      return Error(ErrorCode::unsupported,
                   fmt::format("keys of GeoTIFF have no {} of {} for {}", name, value, method.name));
  }
  return numbers;
}

}  // namespace

Status put_method(const Json& system, bool on_a_sphere, const proj::Register& known, KeyMaker& keys) {
  Json plain = {{"type", "ProjectedCRS"}, {"name", "x"}};
  Json ellipsoid = {{"name", "x"}};
  if (on_a_sphere)
    ellipsoid["radius"] = 6378137;
  else
    ellipsoid["semi_major_axis"] = 6378137, ellipsoid["inverse_flattening"] = 298.257223563;
  const auto axis = [](const char* name, const char* letter, const char* direction) {
    return Json{{"name", name}, {"abbreviation", letter}, {"direction", direction}, {"unit", "degree"}};
  };
  const Json axes = {axis("Latitude", "lat", "north"), axis("Longitude", "lon", "east")};
  plain["base_crs"] = {{"type", "GeographicCRS"},
                       {"name", "x"},
                       {"datum", {{"type", "GeodeticReferenceFrame"}, {"name", "x"}, {"ellipsoid", ellipsoid}}},
                       {"coordinate_system", {{"subtype", "ellipsoidal"}, {"axis", axes}}}};
  plain["conversion"] = system.value("conversion", Json::object());
  plain["conversion"]["name"] = "x";
  plain["coordinate_system"] = system.value("coordinate_system", Json::object());
  PENSTOCK_ASSIGN(const std::string wkt, known.wkt(plain, proj::Text::gdal));
  const Words words = words_of(wkt);
  Error error(ErrorCode::unsupported, fmt::format("keys of GeoTIFF have no method {}", words.method));
  for (const Method* const method : methods_of(words.method)) {
    const auto numbers = numbers_of(*method, words);
    if (!numbers) {
      error = numbers.error();
      continue;
    }
    keys.code(Key::ProjMethod, method->code);
    for (const auto& [key, number] : *numbers) keys.numbers(key, {number});
    return {};
  }
  return error;
}

Result<Projection> projection_by_method(const KeyReader& keys, const Units& units, bool on_a_sphere,
                                        const proj::Register& known) {
  PENSTOCK_ASSIGN(const Method* const method, method_of(keys));
  std::string parameters;
  for (const Parameter& parameter : method->parameters) {
    PENSTOCK_ASSIGN(const double value, value_of(keys, parameter.from));
    parameters += fmt::format("PARAMETER[\"{}\",{}],", parameter.name, value);
  }
  // Of the ellipsoid it only counts whether it is a sphere.
  const std::string wkt = fmt::format(
      "PROJCS[\"x\",GEOGCS[\"x\",DATUM[\"x\",SPHEROID[\"x\",6378137,{}]],PRIMEM[\"Greenwich\",0],UNIT[{},{}]],"
      "PROJECTION[\"{}\"],{}UNIT[{},{}]]",
      on_a_sphere ? 0 : 298.257223563, name_of(units.angular), factor_of(units.angular), method->wkt, parameters,
      name_of(units.linear), factor_of(units.linear));
  PENSTOCK_ASSIGN_IN(const Json system, known.of_wkt(wkt), fmt::format("{}: {}", where(Key::ProjMethod), method->name));
  const auto conversion = system.find("conversion"), axes = system.find("coordinate_system");
  if (conversion == system.end() || axes == system.end())
    return metadata::unsupported(where(Key::ProjMethod), fmt::format("PROJ makes no projection of {}", method->name));
  return Projection{*conversion, *axes};
}

}  // namespace penstock::tiff

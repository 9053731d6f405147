// Coordinate reference systems as texts, there and back, by PROJ where it is found.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/guard.hpp"
#include "core/json.hpp"
#include "format/proj.hpp"
#include "format/tiff/crs.hpp"
#include "format/tiff/write/cog.hpp"
#include "format/wkt.hpp"
#include "penstock/raster_info.hpp"

namespace penstock {
namespace {

Result<Json> system_of_codes(const Crs& crs, const proj::Register& known) {
  PENSTOCK_ASSIGN(Json system, known.entry(proj::Kind::crs, *crs.epsg));
  if (!crs.vertical_epsg) return system;
  PENSTOCK_ASSIGN(Json vertical, known.entry(proj::Kind::crs, *crs.vertical_epsg));
  return tiff::with_heights(crs.name, std::move(system), std::move(vertical));
}

/// A text that defines a system is shorter by far; nor is more of it written.
constexpr std::size_t kMaxText = tiff::kMaxGeoText;

/// "EPSG:32633", "32633"
std::optional<std::uint32_t> code_of(std::string_view text) {
  constexpr std::string_view kAuthority = "EPSG:";
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  if (std::ranges::equal(text.substr(0, kAuthority.size()), kAuthority, {}, upper))
    text.remove_prefix(kAuthority.size());
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(code) : std::nullopt;
}

/// The text may come from a file: it is shown as keys would hold it, and not all of it.
std::string for_message(std::string_view text) { return tiff::in_ascii(text.substr(0, 200)); }

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && std::strchr("_.+-:", c) != nullptr);
  });
}

/// A word, and a bracket behind it.
bool is_wkt(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n"), bracket = text.find_first_of("[(");
  return begin < bracket && bracket != std::string_view::npos && is_word(text.substr(begin, bracket - begin));
}

/// What PROJ is given: nothing that it would look for elsewhere, as it does for names.
Result<std::string> definition_of(std::string_view text) {
  std::string definition(text);
  if (text.starts_with('{')) {
    PENSTOCK_ASSIGN_IN(const Json json, parse_json(text), "a CRS by PROJJSON");
    definition = dump_json(json);  // so that no character hides behind another way to write it
  } else if (text.starts_with("+proj=")) {
    definition += " +type=crs";
  } else if (!is_wkt(text) && !(is_word(text) && text.find(':') != std::string_view::npos)) {
    return Error(
        ErrorCode::invalid_argument,
        fmt::format("'{}' is no CRS: neither an EPSG code, as EPSG:32633, nor well-known text, PROJJSON, a string "
                    "of PROJ (+proj=) or a code of another authority, as ESRI:54009",
                    for_message(text)));
  }
  if (definition.find("init=") != std::string::npos)  // PROJ would open the file that is named there
    return Error(ErrorCode::unsupported, "a CRS by a text that names a file (init=)");
  return definition;
}

Result<Crs> crs_by_keys(const Json& system, const proj::Register& known) {
  PENSTOCK_ASSIGN(const GeoKeys keys, tiff::keys_of(system, known));
  if (std::optional<Crs> crs = tiff::crs_of(keys)) return *std::move(crs);
  return Error(ErrorCode::internal, "keys of a CRS that define none");
}

/// A compound of EPSG's is taken apart: a file has a code for where, and one for how high.
Result<Crs> crs_of_code(std::uint32_t code, std::string name) {
  if (!tiff::epsg_code(code))
    return Error(ErrorCode::unsupported, fmt::format("EPSG:{}: a GeoTIFF holds codes from 1024 to 32766", code));
  if (tiff::model_type_of_epsg(code)) return Crs{code, std::nullopt, std::move(name)};
  PENSTOCK_ASSIGN_IN(const proj::Register known, proj::Register::open(),
                     fmt::format("EPSG:{} is neither projected nor geographic", code));
  PENSTOCK_ASSIGN(const Json system, known.entry(proj::Kind::crs, code));
  PENSTOCK_ASSIGN_IN(Crs crs, crs_by_keys(system, known), fmt::format("EPSG:{}", code));
  return crs;
}

}  // namespace

Result<std::string> crs_wkt(const Crs& crs) {
  const GeoKeys* const keys = tiff::defining_keys(crs);
  if (!crs.epsg && keys == nullptr)
    return Error(ErrorCode::unsupported,
                 fmt::format("the CRS{} has no more than a name: neither an EPSG code nor keys that define it",
                             crs.name.empty() ? "" : " \"" + crs.name + "\""));
  PENSTOCK_ASSIGN(const proj::Register known, proj::Register::open());
  PENSTOCK_ASSIGN_IN(const Json system, keys != nullptr ? tiff::system_of(*keys, known) : system_of_codes(crs, known),
                     crs.name.empty() ? std::string("the CRS") : fmt::format("the CRS \"{}\"", crs.name));
  return known.wkt(system);
}

Result<Crs> parse_crs(std::string_view text) {
  return guarded([&]() -> Result<Crs> {
    if (text.size() > kMaxText)
      return Error(ErrorCode::invalid_argument,
                   fmt::format("a CRS by a text of {} bytes: at most {} are read", text.size(), kMaxText));
    if (text.find('\0') != std::string_view::npos)
      return Error(ErrorCode::invalid_argument, "a CRS by a text with a byte of 0 in it");
    if (const auto code = code_of(text)) return crs_of_code(*code, "");
    if (is_wkt(text))
      if (const auto code = epsg_of_wkt(text)) return crs_of_code(*code, name_of_wkt(text));
    PENSTOCK_ASSIGN(const std::string definition, definition_of(text));
    PENSTOCK_ASSIGN(const proj::Register known, proj::Register::open());
    const Result<Json> taken = is_wkt(text) ? known.of_wkt(definition) : known.of_definition(definition);
    if (!taken && taken.error().code() == ErrorCode::out_of_memory) return taken.error();
    if (!taken) return Error(ErrorCode::invalid_argument, for_message(taken.error().message()));
    const Json& system = *taken;
    const std::string name = system.value("name", std::string());
    if (const auto code = tiff::epsg_of(system)) return crs_of_code(*code, name);
    PENSTOCK_ASSIGN_IN(Crs crs, crs_by_keys(system, known), fmt::format("the CRS \"{}\"", for_message(name)));
    return crs;
  });
}

}  // namespace penstock

#include "array/raster/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "penstock/raster.hpp"

namespace penstock {
namespace {

Json json_of(const Tags& tags) {
  Json out = Json::object();
  for (const auto& [name, text] : tags) out[name] = text;
  return out;
}

Json json_of(const BandInfo& band) {
  Json out = Json::object();
  if (band.scale != 1) out["scale"] = band.scale;
  if (band.offset != 0) out["offset"] = band.offset;
  if (!band.unit.empty()) out["unit"] = band.unit;
  if (!band.description.empty()) out["description"] = band.description;
  if (!band.tags.empty()) out["tags"] = json_of(band.tags);
  return out;
}

/// All that GeoZarr has no words for; without what is not said.
Json json_of(const RasterInfo& info) {
  Json out = Json::object();
  if (info.pixel_is_point) out["pixel_is_point"] = true;
  if (info.crs && !info.crs->name.empty()) out["crs"]["name"] = info.crs->name;
  if (info.crs && info.crs->vertical_epsg) out["crs"]["vertical_epsg"] = *info.crs->vertical_epsg;
  for (const GroundControlPoint& p : info.gcps) out["gcps"].push_back({p.row, p.column, p.x, p.y, p.z});
  if (!info.tags.empty()) out["tags"] = json_of(info.tags);
  Json bands = Json::array();
  for (const BandInfo& band : info.bands) bands.push_back(json_of(band));
  if (std::ranges::any_of(bands, [](const Json& band) { return !band.empty(); })) out["bands"] = std::move(bands);
  return out;
}

/// Scale, offset and unit, where all bands have the same and these say something.
void tell_shared(const std::vector<BandInfo>& bands, Json& attributes) {
  if (bands.empty()) return;
  const BandInfo& first = bands.front();
  const auto all = [&](auto member) {
    return std::ranges::all_of(bands, [&](const BandInfo& band) { return band.*member == first.*member; });
  };
  if (all(&BandInfo::scale) && all(&BandInfo::offset) && (first.scale != 1 || first.offset != 0)) {
    attributes["scale_factor"] = first.scale;
    attributes["add_offset"] = first.offset;
  }
  if (all(&BandInfo::unit) && !first.unit.empty()) attributes["units"] = first.unit;
}

std::optional<double> finite(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Tags tags_of(const Json& object) {
  Tags out;
  if (const auto found = object.find("tags"); found != object.end() && found->is_object())
    for (const auto& [name, value] : found->items())
      if (value.is_string()) out.emplace_back(name, value.get<std::string>());
  return out;
}

std::optional<std::uint32_t> code(const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 0xFFFF) return std::nullopt;
  return value.get<std::uint32_t>();
}

/// "EPSG:32633" -> 32633
std::optional<std::uint32_t> epsg_of(const Json& attributes) {
  const std::string name = text(attributes, "proj:code");
  if (!name.starts_with("EPSG:")) return std::nullopt;
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(name.data() + 5, name.data() + name.size(), code);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(code) : std::nullopt;
}

std::optional<GeoTransform> transform_of(const Json& attributes) {
  const auto found = attributes.find("spatial:transform");
  GeoTransform t{};
  if (found == attributes.end() || !found->is_array() || found->size() != t.size() ||
      !std::ranges::all_of(*found, [](const Json& v) { return v.is_number() && std::isfinite(v.get<double>()); }))
    return std::nullopt;
  std::ranges::transform(*found, t.begin(), [](const Json& v) { return v.get<double>(); });
  return t;
}

void take_band(const Json& band, BandInfo& info) {
  if (!band.is_object()) return;
  info.scale = finite(band, "scale").value_or(1);
  info.offset = finite(band, "offset").value_or(0);
  info.unit = text(band, "unit");
  info.description = text(band, "description");
  info.tags = tags_of(band);
}

void take_gcps(const Json& raster, RasterInfo& info) {
  const auto found = raster.find("gcps");
  if (found == raster.end() || !found->is_array()) return;
  for (const Json& point : *found) {
    if (!point.is_array() || point.size() != 5 ||
        !std::ranges::all_of(point, [](const Json& v) { return v.is_number() && std::isfinite(v.get<double>()); }))
      continue;
    info.gcps.push_back({point[0], point[1], point[2], point[3], point[4]});
  }
}

/// The object `raster`, as json_of makes it.
void take_raster(const Json& raster, RasterInfo& info) {
  const auto point = raster.find("pixel_is_point");
  info.pixel_is_point = point != raster.end() && *point == true;
  if (const auto crs = raster.find("crs"); crs != raster.end() && crs->is_object()) {
    if (!info.crs) info.crs.emplace();
    info.crs->name = text(*crs, "name");
    info.crs->vertical_epsg = code(crs->value("vertical_epsg", Json()));
  }
  take_gcps(raster, info);
  info.tags = tags_of(raster);
  const auto bands = raster.find("bands");
  if (bands == raster.end() || !bands->is_array()) return;
  for (std::size_t i = 0; i < bands->size() && i < info.bands.size(); ++i) take_band((*bands)[i], info.bands[i]);
}

}  // namespace

void move_to(const Region& part, RasterInfo& info) {
  const auto x = static_cast<double>(part[2].start), y = static_cast<double>(part[1].start);
  if (info.transform) {
    GeoTransform& t = *info.transform;
    t[2] += t[0] * x + t[1] * y;
    t[5] += t[3] * x + t[4] * y;
  }
  // The middle of the first pixel stays the middle of the first.
  const auto moved = [](double at, double first, std::int64_t step) {
    return (at - 0.5 - first) / static_cast<double>(step) + 0.5;
  };
  for (GroundControlPoint& point : info.gcps) {
    point.column = moved(point.column, x, part[2].step);
    point.row = moved(point.row, y, part[1].step);
  }
  std::vector<BandInfo> bands;
  for (std::uint64_t b = part[0].start; b < part[0].start + part[0].count && b < info.bands.size(); ++b)
    bands.push_back(info.bands[b]);
  info.bands = std::move(bands);
}

Status tell_raster(const Array& from, const Region& part, Dataset& to) {
  PENSTOCK_ASSIGN(const Raster raster, Raster::open(from.store_ptr(), from.path()));
  RasterInfo info = raster.info();
  move_to(part, info);
  PENSTOCK_ASSIGN(Json attributes, parse_json(to.attributes));
  tell_shared(info.bands, attributes);
  if (Json all = json_of(info); !all.empty()) attributes["raster"] = std::move(all);
  to.attributes = dump_json(attributes);
  return {};
}

RasterInfo told_raster(const Json& attributes, std::uint64_t bands) {
  RasterInfo info;
  if (!attributes.is_object()) return info;
  if (const auto epsg = epsg_of(attributes)) info.crs.emplace().epsg = epsg;
  info.transform = transform_of(attributes);
  BandInfo shared;
  shared.scale = finite(attributes, "scale_factor").value_or(1);
  shared.offset = finite(attributes, "add_offset").value_or(0);
  shared.unit = text(attributes, "units");
  info.bands.assign(bands, shared);
  if (const auto raster = attributes.find("raster"); raster != attributes.end() && raster->is_object())
    take_raster(*raster, info);
  return info;
}

std::string left_of_raster(const Dataset& from) {
  const auto attributes = parse_json(from.attributes);
  if (!is_raster(from) || !attributes || !attributes->is_object()) return "";
  const Json file = attributes->value("tiff", Json::object());
  std::vector<std::string> left;
  if (file.contains("masks")) left.emplace_back("its mask");
  if (file.contains("overviews")) left.emplace_back("its overviews");
  if (file.contains("other_images")) left.emplace_back("further images of the file");
  if (left.empty()) return "";
  return fmt::format("not copied: {}", fmt::join(left, ", "));
}

}  // namespace penstock

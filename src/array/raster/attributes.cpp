#include "array/raster/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "penstock/raster.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxBands = 65535;  ///< of a TIFF; an array may say any number
constexpr std::size_t kRpcNumbers = 92, kRpcLine = 2, kRpcSample = 3, kRpcLineScale = 7, kRpcSampleScale = 8;

Json json_of(const Tags& tags) {
  Json out = Json::object();
  for (const auto& [name, text] : tags) out[name] = text;
  return out;
}

Json json_of(const TagDomains& domains) {
  Json out = Json::object();
  for (const auto& [name, tags] : domains) out[name] = json_of(tags);
  return out;
}

Json json_of(const BandInfo& band) {
  Json out = Json::object();
  if (band.scale != 1) out["scale"] = band.scale;
  if (band.offset != 0) out["offset"] = band.offset;
  if (!band.unit.empty()) out["unit"] = band.unit;
  if (!band.description.empty()) out["description"] = band.description;
  if (!band.tags.empty()) out["tags"] = json_of(band.tags);
  if (!band.domains.empty()) out["domains"] = json_of(band.domains);
  if (!band.color.empty()) out["color"] = band.color;
  return out;
}

/// All that GeoZarr has no words for; without what is not said.
Json json_of(const RasterInfo& info) {
  Json out = Json::object();
  if (info.pixel_is_point) out["pixel_is_point"] = true;
  if (info.crs && !info.crs->name.empty()) out["crs"]["name"] = info.crs->name;
  if (info.crs && info.crs->vertical_epsg) out["crs"]["vertical_epsg"] = *info.crs->vertical_epsg;
  if (info.crs && info.crs->keys) {
    const GeoKeys& keys = *info.crs->keys;
    out["crs"]["geo_keys"] = {{"directory", keys.directory}, {"numbers", keys.numbers}, {"texts", keys.texts}};
  }
  for (const GroundControlPoint& p : info.gcps) out["gcps"].push_back({p.row, p.column, p.x, p.y, p.z});
  if (!info.rpc.empty()) out["rpc"] = info.rpc;
  if (!info.tags.empty()) out["tags"] = json_of(info.tags);
  if (!info.domains.empty()) out["domains"] = json_of(info.domains);
  if (!info.colormap.empty()) out["colormap"] = info.colormap;
  if (info.white_is_zero) out["white_is_zero"] = true;
  Json bands = Json::array();
  for (const BandInfo& band : info.bands) bands.push_back(json_of(band));
  if (std::ranges::any_of(bands, [](const Json& band) { return !band.empty(); })) out["bands"] = std::move(bands);
  return out;
}

/// Whether a file that is written without a word about colors says the same.
bool is_plain(const std::vector<BandInfo>& bands) {
  const bool gray = !bands.empty() && bands.front().color == "gray";
  return gray && bands.size() < 3 && (bands.size() == 1 || bands[1].color == "undefined");
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

Tags tags_in(const Json& object) {
  Tags out;
  for (const auto& [name, value] : object.items())
    if (value.is_string()) out.emplace_back(name, value.get<std::string>());
  return out;
}

Tags tags_of(const Json& object) {
  const auto found = object.find("tags");
  return found != object.end() && found->is_object() ? tags_in(*found) : Tags();
}

TagDomains domains_of(const Json& object) {
  TagDomains out;
  if (const auto found = object.find("domains"); found != object.end() && found->is_object())
    for (const auto& [name, tags] : found->items())
      if (tags.is_object() && !name.empty()) out.emplace_back(name, tags_in(tags));
  return out;
}

/// The numbers of a list of them; empty where it is none.
std::vector<double> numbers_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return {};
  std::vector<double> out;
  for (const Json& value : *found) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) return {};
    out.push_back(value.get<double>());
  }
  return out;
}

bool is_short(double value) { return value >= 0 && value <= 0xFFFF && value == std::floor(value); }

std::optional<GeoKeys> geo_keys_of(const Json& crs) {
  const auto found = crs.find("geo_keys");
  if (found == crs.end() || !found->is_object()) return std::nullopt;
  const std::vector<double> directory = numbers_of(*found, "directory");
  if (directory.size() < 4 || !std::ranges::all_of(directory, is_short)) return std::nullopt;
  GeoKeys keys{{}, numbers_of(*found, "numbers"), text(*found, "texts")};
  for (const double number : directory) keys.directory.push_back(static_cast<std::uint16_t>(number));
  if (keys.directory.size() != 4 + std::size_t{4} * keys.directory[3]) return std::nullopt;
  return keys;
}

void take_colormap(const Json& raster, RasterInfo& info) {
  const auto found = raster.find("colormap");
  if (found == raster.end() || !found->is_array() || found->size() > 65536) return;
  for (const Json& color : *found) {
    if (!color.is_array() || color.size() != 3 ||
        !std::ranges::all_of(color, [](const Json& v) { return v.is_number() && is_short(v.get<double>()); }))
      return info.colormap.clear();
    info.colormap.push_back({color[0], color[1], color[2]});
  }
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
  info.domains = domains_of(band);
  info.color = text(band, "color");
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

/// A text a band, as rioxarray writes them: of one band without a list around it.
void take_each(const Json& attributes, const char* name, std::vector<BandInfo>& bands, std::string BandInfo::* member) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return;
  if (found->is_string() && bands.size() == 1) bands.front().*member = found->get<std::string>();
  if (!found->is_array() || found->size() != bands.size()) return;
  for (std::size_t i = 0; i < bands.size(); ++i)
    if ((*found)[i].is_string()) bands[i].*member = (*found)[i].get<std::string>();
}

bool is_statistic(std::string_view name) { return name.starts_with("STATISTICS_"); }

std::size_t erase_statistics(Json& object) {
  if (!object.is_object()) return 0;
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items())
    if (is_statistic(name)) names.push_back(name);
  for (const std::string& name : names) object.erase(name);
  return names.size();
}

/// The object `raster`, as json_of makes it.
void take_raster(const Json& raster, RasterInfo& info) {
  const auto point = raster.find("pixel_is_point");
  info.pixel_is_point = point != raster.end() && *point == true;
  if (const auto crs = raster.find("crs"); crs != raster.end() && crs->is_object()) {
    if (!info.crs) info.crs.emplace();
    info.crs->name = text(*crs, "name");
    info.crs->keys = geo_keys_of(*crs);
    info.crs->vertical_epsg = code(crs->value("vertical_epsg", Json()));
  }
  take_gcps(raster, info);
  take_colormap(raster, info);
  const auto inverted = raster.find("white_is_zero");
  info.white_is_zero = inverted != raster.end() && *inverted == true;
  if (info.rpc = numbers_of(raster, "rpc"); info.rpc.size() != kRpcNumbers) info.rpc.clear();
  info.tags = tags_of(raster);
  info.domains = domains_of(raster);
  const auto bands = raster.find("bands");
  if (bands == raster.end() || !bands->is_array()) return;
  for (std::size_t i = 0; i < bands->size() && i < info.bands.size(); ++i) take_band((*bands)[i], info.bands[i]);
}

}  // namespace

void forget_statistics(RasterInfo& info) {
  for (BandInfo& band : info.bands) std::erase_if(band.tags, [](const auto& tag) { return is_statistic(tag.first); });
}

Status forget_statistics(Dataset& dataset) {
  PENSTOCK_ASSIGN(Json attributes, parse_json(dataset.attributes));
  if (!attributes.is_object()) return {};
  std::size_t erased = erase_statistics(attributes);
  const auto raster = attributes.find("raster");
  if (raster != attributes.end() && raster->is_object() && raster->contains("bands") && (*raster)["bands"].is_array())
    for (Json& band : (*raster)["bands"])
      if (band.is_object() && band.contains("tags")) erased += erase_statistics(band["tags"]);
  if (erased > 0) dataset.attributes = dump_json(attributes);
  return {};
}

Status move_raster(Dataset& dataset, const Region& part, std::uint64_t bands) {
  PENSTOCK_TRY(forget_statistics(dataset));
  PENSTOCK_ASSIGN(Json attributes, parse_json(dataset.attributes));
  if (!attributes.is_object() || part.size() != 3) return {};
  const auto raster = attributes.find("raster");
  if (raster == attributes.end() || !raster->is_object()) return {};
  RasterInfo info;
  info.bands.resize(std::min(bands, kMaxBands));
  take_raster(*raster, info);
  move_to(part, info);
  if (Json moved = json_of(info); moved.empty())
    attributes.erase("raster");
  else
    *raster = std::move(moved);
  dataset.attributes = dump_json(attributes);
  return {};
}

void scale_to(const Shape& image, const Shape& level, RasterInfo& info) {
  const double x = static_cast<double>(image[2]) / static_cast<double>(level[2]);
  const double y = static_cast<double>(image[1]) / static_cast<double>(level[1]);
  if (info.transform) {
    GeoTransform& t = *info.transform;
    t = {t[0] * x, t[1] * y, t[2], t[3] * x, t[4] * y, t[5]};
  }
  for (GroundControlPoint& point : info.gcps) {
    point.column /= x;
    point.row /= y;
  }
  if (info.rpc.size() == kRpcNumbers) {  // of the middles of pixels
    info.rpc[kRpcLine] = (info.rpc[kRpcLine] + 0.5) / y - 0.5;
    info.rpc[kRpcSample] = (info.rpc[kRpcSample] + 0.5) / x - 0.5;
    info.rpc[kRpcLineScale] /= y;
    info.rpc[kRpcSampleScale] /= x;
  }
  forget_statistics(info);
}

void move_to(const Region& part, RasterInfo& info) {
  const auto x = static_cast<double>(part[2].start), y = static_cast<double>(part[1].start);
  if (info.transform) {
    const auto steps_x = static_cast<double>(part[2].step), steps_y = static_cast<double>(part[1].step);
    const auto moved_row = [&](double a, double b, double c) {
      return c + a * (x + (1 - steps_x) / 2) + b * (y + (1 - steps_y) / 2);
    };
    const GeoTransform t = *info.transform;
    info.transform = {t[0] * steps_x, t[1] * steps_y, moved_row(t[0], t[1], t[2]),
                      t[3] * steps_x, t[4] * steps_y, moved_row(t[3], t[4], t[5])};
  }
  // The middle of the first pixel stays the middle of the first.
  const auto moved = [](double at, double first, std::int64_t step) {
    return (at - 0.5 - first) / static_cast<double>(step) + 0.5;
  };
  for (GroundControlPoint& point : info.gcps) {
    point.column = moved(point.column, x, part[2].step);
    point.row = moved(point.row, y, part[1].step);
  }
  if (info.rpc.size() == kRpcNumbers) {
    const auto steps = [](const Range& range) { return static_cast<double>(range.step); };
    info.rpc[kRpcLine] = (info.rpc[kRpcLine] - y) / steps(part[1]);
    info.rpc[kRpcSample] = (info.rpc[kRpcSample] - x) / steps(part[2]);
    info.rpc[kRpcLineScale] /= std::abs(steps(part[1]));
    info.rpc[kRpcSampleScale] /= std::abs(steps(part[2]));
  }
  // The profile is of all colors together.
  if (part[0].count != info.bands.size())
    std::erase_if(info.domains, [](const auto& d) { return d.first == "COLOR_PROFILE"; });
  std::vector<BandInfo> bands;
  for (std::uint64_t i = 0; i < part[0].count; ++i) {
    const auto b = static_cast<std::int64_t>(part[0].start) + static_cast<std::int64_t>(i) * part[0].step;
    if (b >= 0 && static_cast<std::size_t>(b) < info.bands.size())
      bands.push_back(info.bands[static_cast<std::size_t>(b)]);
  }
  info.bands = std::move(bands);
}

Status tell_raster(const Array& from, const Region& part, Dataset& to) {
  PENSTOCK_ASSIGN(RasterSource source, raster_source(from));
  RasterInfo& info = source.info;
  if (part != whole(from.dataset().shape)) {
    move_to(part, info);
    forget_statistics(info);
  }
  PENSTOCK_ASSIGN(Json attributes, parse_json(to.attributes));
  tell_shared(info.bands, attributes);
  if (info.transform && !attributes.contains("spatial:transform")) {  // of an overview or a mask
    attributes["spatial:transform"] = *info.transform;
    attributes["spatial:dimensions"] = {"y", "x"};
    if (info.crs && info.crs->epsg) attributes["proj:code"] = fmt::format("EPSG:{}", *info.crs->epsg);
  }
  if (is_plain(info.bands))
    for (BandInfo& band : info.bands) band.color.clear();
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
  info.bands.assign(std::min(bands, kMaxBands), shared);
  take_each(attributes, "long_name", info.bands, &BandInfo::description);
  take_each(attributes, "units", info.bands, &BandInfo::unit);
  info.pixel_is_point = text(attributes, "AREA_OR_POINT") == "Point";
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
  if (const auto fields = file.find("other_fields"); fields != file.end() && fields->is_array())
    for (const Json& field : *fields)
      if (field.is_string()) left.push_back(field.get<std::string>());
  if (left.empty()) return "";
  return fmt::format("not copied: {}", fmt::join(left, ", "));
}

}  // namespace penstock

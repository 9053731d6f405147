// What a raster file says besides its elements, by chance, and whether a file that was written says it again.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "codec/choices.hpp"
#include "format/tiff/tiff.hpp"
#include "format/tiff/write/cog.hpp"
#include "fuzz.hpp"
#include "penstock/dataset.hpp"
#include "penstock/raster_info.hpp"

namespace penstock::fuzz {

/// Draws what may be said of a raster; mostly what can be written.
class RasterMaker {
 public:
  explicit RasterMaker(test::Choices& choices) : choices_(choices) {}

  RasterInfo make(const DType& dtype, std::uint64_t bands) {
    RasterInfo info;
    info.bands.resize(bands);
    if (choices_.one_in(2)) draw_place(info);
    if (choices_.one_in(2)) draw_crs(info);
    if (choices_.one_in(2)) draw_tags(info);
    if (choices_.one_in(2)) draw_bands(info);
    if (choices_.one_in(3)) draw_colors(info, dtype);
    if (choices_.one_in(4)) draw_profiles(info);
    return info;
  }

 private:
  std::string text() {
    constexpr std::string_view kParts[] = {"a",  "Z",  "0", "_",      "<",      ">",   "&",    "\"", "'",
                                           "\n", "\t", " ", "\u00e9", "\u2603", "]]>", "&lt;", "=",  "\r"};
    constexpr std::string_view kOdd[] = {"\x01", "\x7f", std::string_view("\0", 1), "\x1b"};
    std::string out;
    for (std::uint32_t n = choices_.below(9); n > 0; --n) out += kParts[choices_.below(std::size(kParts))];
    if (choices_.one_in(40)) out += kOdd[choices_.below(std::size(kOdd))];
    return out;
  }
  double number() {
    constexpr double kNumbers[] = {0, 1, -1, 0.5, 10, -0.25, 1e-300, 1e300, 500000, 1.0 / 3, -7.25e7};
    constexpr double kOdd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
    return choices_.one_in(60) ? kOdd[choices_.below(2)] : kNumbers[choices_.below(std::size(kNumbers))];
  }
  /// Of other names than those before.
  Tags tags() {
    Tags out;
    std::set<std::string> names;
    for (std::uint32_t n = choices_.below(4); n > 0; --n)
      if (const std::string name = text(); names.insert(name).second) out.emplace_back(name, text());
    return out;
  }
  TagDomains domains() {
    TagDomains out;
    std::set<std::string> names;
    for (std::uint32_t n = choices_.below(3); n > 0; --n) {
      const std::string name = (choices_.one_in(4) ? "xml:" : "D") + text();
      if (Tags some = tags(); !some.empty() && names.insert(name).second) out.emplace_back(name, std::move(some));
    }
    return out;
  }

  void draw_place(RasterInfo& info) {
    if (choices_.one_in(2)) info.transform = {number(), number(), number(), number(), number(), number()};
    if (choices_.one_in(3)) info.transform = {2, 0, number(), 0, -3, number()};
    for (std::uint32_t n = choices_.one_in(3) ? choices_.below(5) : 0; n > 0; --n)
      info.gcps.push_back({number(), number(), number(), number(), number()});
    info.pixel_is_point = choices_.one_in(2);
    if (choices_.one_in(4))
      for (int i = 0; i < (choices_.one_in(20) ? 91 : 92); ++i) info.rpc.push_back(i % 10 == 0 ? number() : i);
  }
  void draw_crs(RasterInfo& info) {
    constexpr std::uint32_t kCodes[] = {4326, 32633, 3857, 2154, 1024, 32766, 7, 70000};
    Crs& crs = info.crs.emplace();
    crs.name = choices_.one_in(2) ? "a name" : text();
    if (choices_.one_in(2)) crs.epsg = kCodes[choices_.below(std::size(kCodes))];
    if (choices_.one_in(4)) crs.vertical_epsg = 5773;
    if (!choices_.one_in(2)) return;
    if (choices_.one_in(2))
      draw_keys(crs.keys.emplace());
    else
      draw_system(crs.keys.emplace());
  }
  /// Keys that nearly define a system.
  void draw_system(GeoKeys& keys) {
    constexpr std::pair<std::uint16_t, std::uint16_t> kCodes[] = {
        {1024, 1},     {1024, 2},     {1024, 3},     {1024, 32767}, {2048, 4326},  {2048, 32767},
        {2050, 6326},  {2050, 32767}, {2051, 8903},  {2052, 9002},  {2054, 9102},  {2054, 9105},
        {2054, 32767}, {2056, 7004},  {3072, 32767}, {3072, 3035},  {3074, 16033}, {3076, 9003},
        {3076, 32767}, {4096, 5773},  {4096, 32767}, {4096, 4979},  {4098, 5171},  {4099, 9002}};
    constexpr std::uint16_t kNumbers[] = {2055, 2057, 2058, 2059, 2061, 2062, 3077, 3078, 3079, 3080, 3081,
                                          3082, 3083, 3084, 3085, 3088, 3089, 3092, 3093, 3094, 3095, 3096};
    keys.directory = {1, 1, 0, 0};
    const auto row = [&](std::uint16_t key, std::uint16_t where, std::uint16_t count, std::uint16_t value) {
      keys.directory.insert(keys.directory.end(), {key, where, count, value});
      ++keys.directory[3];
    };
    for (std::uint32_t n = choices_.below(7); n > 0; --n) {
      const auto& [key, value] = kCodes[choices_.below(std::size(kCodes))];
      row(key, 0, 1, value);
    }
    if (choices_.one_in(2)) row(3075, 0, 1, static_cast<std::uint16_t>(choices_.below(30)));
    for (std::uint32_t n = choices_.below(9); n > 0; --n) {
      const std::uint16_t key = kNumbers[choices_.below(std::size(kNumbers))];
      row(key, 34736, key == 2062 ? 7 : 1, static_cast<std::uint16_t>(keys.numbers.size()));
      keys.numbers.push_back(choices_.one_in(3) ? 6378137 : number());
    }
    keys.texts = text() + "|GCS Name = x|Ellipsoid = " + text() + "|ESRI PE String = GEOGCS[" + text() + "|";
    const auto end = static_cast<std::uint16_t>(keys.texts.size());
    if (choices_.one_in(2)) row(1026, 34737, end, 0);
    if (choices_.one_in(2)) row(2049, 34737, end, 0);
    if (choices_.one_in(4)) row(3073, 34737, end, static_cast<std::uint16_t>(keys.texts.find("ESRI")));
  }
  void draw_keys(GeoKeys& keys) {
    constexpr std::uint16_t kKeys[] = {1024, 1025, 1026, 2048, 2049, 2057, 3072, 3075, 3076, 3088, 3089, 4096, 9};
    constexpr std::uint16_t kValues[] = {0, 1, 2, 7, 10, 4326, 32633, 32767, 34735, 34736, 34737, 65535};
    const std::uint32_t count = choices_.one_in(50) ? 1100 : choices_.below(9);
    keys.directory = {1, 1, 0, static_cast<std::uint16_t>(count)};
    const auto value = [&] { return kValues[choices_.below(std::size(kValues))]; };
    for (std::uint32_t i = 0; i < count; ++i)
      for (const std::uint16_t part : {kKeys[choices_.below(std::size(kKeys))], value(), value(), value()})
        keys.directory.push_back(part);
    for (std::uint32_t n = choices_.below(4); n > 0; --n) keys.numbers.push_back(number());
    keys.texts = text();
  }
  void draw_tags(RasterInfo& info) {
    info.tags = tags();
    info.domains = domains();
    for (const tiff::NamedTag& known : tiff::kTextTags)
      if (choices_.one_in(5)) info.tags.emplace_back(known.name, text());
    for (const tiff::NamedTag& known : tiff::kResolutionTags)
      if (choices_.one_in(5)) info.tags.emplace_back(known.name, choices_.one_in(20) ? "no number" : "300");
    if (choices_.one_in(5)) info.tags.emplace_back("AREA_OR_POINT", choices_.one_in(2) ? "Point" : "Area");
  }
  void draw_bands(RasterInfo& info) {
    for (BandInfo& band : info.bands) {
      if (choices_.one_in(2)) band.scale = number();
      if (choices_.one_in(2)) band.offset = number();
      if (choices_.one_in(2)) band.unit = text();
      if (choices_.one_in(2)) band.description = text();
      if (choices_.one_in(2)) band.tags = tags();
      if (choices_.one_in(4)) band.domains = domains();
    }
  }
  void draw_colors(RasterInfo& info, const DType& dtype) {
    constexpr std::string_view kWords[] = {
        "gray", "palette", "red",    "green", "blue",      "alpha", "premultiplied alpha",
        "cyan", "magenta", "yellow", "black", "undefined", "nir",   ""};
    for (BandInfo& band : info.bands) band.color = kWords[choices_.below(std::size(kWords))];
    if (!choices_.one_in(2)) return;
    info.bands.front().color = "palette";
    const std::size_t values = dtype == DType::uint16() ? 65536 : choices_.one_in(20) ? 7 : 256;
    for (std::size_t i = 0; i < values; ++i)
      info.colormap.push_back({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(choices_.chance()), 65535});
  }
  void draw_profiles(RasterInfo& info) {
    const auto names = [&](const char* domain) {
      return std::ranges::find(info.domains, domain, &TagDomains::value_type::first) != info.domains.end();
    };
    if (!names(tiff::kIccDomain))
      info.domains.emplace_back(tiff::kIccDomain, Tags{{tiff::kIccName, choices_.one_in(10) ? text() : "AAECAw=="}});
    if (choices_.one_in(2) && !names(tiff::kXmpDomain))
      info.domains.emplace_back(tiff::kXmpDomain, Tags{{tiff::kXmpDomain, "<x>" + text()}});
  }

  test::Choices& choices_;
};

inline bool is_near(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

/// In any order.
inline Tags sorted(Tags tags) {
  std::ranges::sort(tags);
  return tags;
}
inline TagDomains sorted(TagDomains domains) {
  for (auto& [name, tags] : domains) std::ranges::sort(tags);
  std::ranges::sort(domains);
  return domains;
}

/// Fields of their own that are empty are not written.
inline void forget_empty(RasterInfo& info) {
  std::erase_if(info.tags, [](const auto& tag) { return tag.second.empty() && tiff::has_own_field(tag.first); });
  for (auto& [domain, tags] : info.domains)
    std::erase_if(tags, [&](const auto& tag) { return tag.second.empty() && tiff::has_own_field(domain, tag.first); });
  std::erase_if(info.domains, [](const auto& domain) { return domain.second.empty(); });
}

/// The middle of a pixel is half of it away from its corner: of a place beside pixels that are much larger less is
/// left.
inline void demand_same_transform(const GeoTransform& want, const GeoTransform& got) {
  const double x = std::abs(want[0]) + std::abs(want[1]), y = std::abs(want[3]) + std::abs(want[4]);
  demand(want[0] == got[0] && want[1] == got[1] && want[3] == got[3] && want[4] == got[4]);
  demand(std::abs(want[2] - got[2]) <= 1e-9 * (1 + x + std::abs(want[2])));
  demand(std::abs(want[5] - got[5]) <= 1e-9 * (1 + y + std::abs(want[5])));
}

inline void demand_same_place(const RasterInfo& want, const RasterInfo& got) {
  demand(want.transform.has_value() == got.transform.has_value());
  if (want.transform)
    demand_same_transform(*want.transform, *got.transform);
  else
    demand(std::ranges::equal(want.gcps, got.gcps, [](const GroundControlPoint& a, const GroundControlPoint& b) {
      return is_near(a.row, b.row) && is_near(a.column, b.column) && a.x == b.x && a.y == b.y && a.z == b.z;
    }));
  demand(want.pixel_is_point == got.pixel_is_point);
  demand(want.rpc == got.rpc);
  if (!want.crs) return;
  if (want.crs->epsg) demand(got.crs && got.crs->epsg == want.crs->epsg);
}

/// `want`: as it was drawn, of an image that was written; `got`: as the file says.
inline void demand_same(RasterInfo want, RasterInfo got, const Dataset& image) {
  for (const auto& [name, text] : want.tags)
    if (name == "AREA_OR_POINT") want.pixel_is_point = text == "Point";
  const auto is_place = [](const auto& tag) { return tag.first == "AREA_OR_POINT"; };
  std::erase_if(want.tags, is_place);
  std::erase_if(got.tags, is_place);
  forget_empty(want);
  demand_same_place(want, got);
  demand(sorted(want.tags) == sorted(got.tags));
  demand(sorted(want.domains) == sorted(got.domains));
  demand(want.bands.size() == got.bands.size());
  for (std::size_t i = 0; i < want.bands.size(); ++i) {
    const BandInfo &a = want.bands[i], &b = got.bands[i];
    const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    demand(same(a.scale, b.scale) && same(a.offset, b.offset));
    demand(a.unit == b.unit && a.description == b.description);
    demand(sorted(a.tags) == sorted(b.tags) && sorted(a.domains) == sorted(b.domains));
    demand(a.color.empty() || a.color == b.color);
  }
  demand(tiff::has_palette(want, image) ? want.colormap == got.colormap : got.colormap.empty());
}

}  // namespace penstock::fuzz

// What a raster says that no TIFF can say, or none that is read again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "format/tiff/crs.hpp"
#include "format/tiff/tiff.hpp"
#include "format/tiff/write/cog.hpp"

namespace penstock::tiff {
namespace {

/// Of XML 1.0.
bool has_control_character(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r'; });
}

/// Fields of their own hold every character but the one that ends them.
Status check_text(std::string_view name, std::string_view text, bool own_field) {
  if (own_field ? text.find('\0') == std::string_view::npos
                : !has_control_character(name) && !has_control_character(text))
    return {};
  return Error(ErrorCode::invalid_argument,
               fmt::format("tag '{}': control characters cannot be written into a TIFF's metadata", name));
}

Status check_all(const Tags& tags, const TagDomains& domains) {
  for (const auto& [name, text] : tags) PENSTOCK_TRY(check_text(name, text, has_own_field(name)));
  for (const auto& [domain, some] : domains) {
    PENSTOCK_TRY(check_text(domain, "", false));
    for (const auto& [name, text] : some) PENSTOCK_TRY(check_text(name, text, has_own_field(domain, name)));
  }
  return {};
}

/// Which are numbers in the file.
Status check_resolution(const Tags& tags) {
  for (const auto& [name, text] : tags) {
    const auto is = [&name = name](const NamedTag& known) { return name == known.name; };
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number =
        error == std::errc() && end == text.data() + text.size() && value >= 0 && value < 4294967296.0;
    if (std::ranges::any_of(kResolutionTags, is) && !is_number)
      return Error(ErrorCode::invalid_argument, fmt::format("tag {}: '{}' is no number of pixels", name, text));
    if (is(kResolutionUnitTag) && (text.empty() || text[0] < '1' || text[0] > '3'))
      return Error(ErrorCode::invalid_argument,
                   fmt::format("tag {}: '{}' is none of: {}", name, text, fmt::join(kResolutionUnits, ", ")));
  }
  return {};
}

Status check_tags(const RasterInfo& info) {
  PENSTOCK_TRY(check_all(info.tags, info.domains));
  PENSTOCK_TRY(check_resolution(info.tags));
  if (const auto icc = make_icc_profile(info); !icc) return icc.error();
  for (const BandInfo& band : info.bands) {
    PENSTOCK_TRY(check_all(band.tags, band.domains));
    PENSTOCK_TRY(check_all({{"description", band.description}, {"unit", band.unit}, {"color", band.color}}, {}));
  }
  return {};
}

Status expect_finite(std::string_view what, std::span<const double> numbers) {
  if (std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); })) return {};
  return Error(ErrorCode::invalid_argument, fmt::format("{}: {} are not all finite", what, fmt::join(numbers, ", ")));
}

Status check_keys(const GeoKeys& keys) {
  if (keys.directory.size() / 4 - 1 <= kMaxGeoKeys && keys.numbers.size() <= kMaxGeoNumbers &&
      keys.texts.size() < kMaxGeoText)
    return {};
  return Error(ErrorCode::invalid_argument,
               fmt::format("{} keys, {} numbers and {} bytes of text define the CRS: at most {}, {} and {} are written",
                           keys.directory.size() / 4 - 1, keys.numbers.size(), keys.texts.size(), kMaxGeoKeys,
                           kMaxGeoNumbers, kMaxGeoText - 1));
}

Status check_place(const RasterInfo& info) {
  if (info.transform) PENSTOCK_TRY(expect_finite("transform", *info.transform));
  for (const GroundControlPoint& p : info.gcps)
    PENSTOCK_TRY(expect_finite("a control point", std::array{p.row, p.column, p.x, p.y, p.z}));
  if (info.gcps.size() > kMaxControlPoints)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} control points: at most {} are written", info.gcps.size(), kMaxControlPoints));
  PENSTOCK_TRY(expect_finite("rpc", info.rpc));
  if (!info.rpc.empty() && info.rpc.size() != kRpcNumbers)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("rpc: {} coefficients, where there are {}", info.rpc.size(), kRpcNumbers));
  if (const GeoKeys* const keys = info.crs ? defining_keys(*info.crs) : nullptr) PENSTOCK_TRY(check_keys(*keys));
  return {};
}

}  // namespace

Status check_info(const RasterInfo& info) {
  PENSTOCK_TRY(check_tags(info));
  return check_place(info);
}

}  // namespace penstock::tiff

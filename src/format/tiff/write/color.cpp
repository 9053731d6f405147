// What bands show, as fields of TIFF.
#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

#include "format/tiff/write/cog.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint16_t kWhiteIsZero = 0, kBlackIsZero = 1, kRgb = 2, kPalette = 3, kSeparated = 5;

template <std::size_t n>
bool begins(const std::vector<BandInfo>& bands, const std::array<std::string_view, n>& colors) {
  return bands.size() >= n && std::ranges::equal(colors, bands | std::views::take(n), {}, {}, &BandInfo::color);
}

std::uint16_t extra_code(std::string_view color) {
  return color == "alpha" ? 2 : color == "premultiplied alpha" ? 1 : 0;
}

struct Photometric {
  std::uint16_t code;
  std::size_t bands;  ///< that it speaks of
};
Photometric photometric_of(const RasterInfo& info, const Dataset& image) {
  const std::vector<BandInfo>& bands = info.bands;
  const bool nothing_said = std::ranges::all_of(bands, [](const BandInfo& band) { return band.color.empty(); });
  if (begins(bands, std::to_array<std::string_view>({"red", "green", "blue"})) ||
      (nothing_said && bands.size() >= 3 && image.dtype == DType::uint8()))
    return {kRgb, 3};
  if (begins(bands, std::to_array<std::string_view>({"cyan", "magenta", "yellow", "black"}))) return {kSeparated, 4};
  if (has_palette(info, image)) return {kPalette, 1};
  return {info.white_is_zero ? kWhiteIsZero : kBlackIsZero, 1};
}

}  // namespace

bool has_palette(const RasterInfo& info, const Dataset& image) {
  const bool can = image.dtype == DType::uint8() || image.dtype == DType::uint16();
  return can && info.colormap.size() == std::size_t{1} << 8 * image.dtype.size_bytes && !info.bands.empty() &&
         info.bands.front().color == "palette";
}

ColorFields make_color_fields(const RasterInfo& info, const Dataset& level) {
  const Photometric photometric = photometric_of(info, level);
  ColorFields fields{photometric.code, {}, {}};
  for (std::size_t i = photometric.bands; i < info.bands.size(); ++i)
    fields.extra.push_back(extra_code(info.bands[i].color));
  for (std::size_t i = 0; i < info.bands.size(); ++i) {
    const std::string& color = info.bands[i].color;
    const bool is_extra = i >= photometric.bands && (color == "undefined" || extra_code(color) != 0);
    const bool is_first =
        photometric.bands == 1 && i == 0 && color == (photometric.code == kPalette ? "palette" : "gray");
    const bool is_said = color.empty() || is_extra || is_first || (photometric.bands > 1 && i < photometric.bands);
    fields.others.push_back(is_said ? "" : color);
  }
  if (photometric.code == kPalette)
    for (std::size_t part = 0; part < 3; ++part)
      for (const auto& color : info.colormap) fields.colormap.push_back(color[part]);
  return fields;
}

}  // namespace penstock::tiff

// What the bands of an image show.
#include <algorithm>
#include <array>
#include <string_view>

#include "format/members.hpp"
#include "format/tiff/tiff.hpp"

namespace penstock::tiff {
namespace {

enum Photometric : std::uint16_t {
  kWhiteIsZero = 0,
  kBlackIsZero = 1,
  kRgb = 2,
  kPalette = 3,
  kSeparated = 5,
  kYcbcr = 6
};
enum Extra : std::uint16_t { kAssociatedAlpha = 1, kAlpha = 2 };

/// Of the samples that PhotometricInterpretation speaks of; none where it is not known here.
std::vector<std::string_view> colors_of(std::uint64_t photometric) {
  switch (photometric) {
    case kWhiteIsZero:
    case kBlackIsZero: return {"gray"};
    case kRgb:
    case kYcbcr: return {"red", "green", "blue"};  // YCbCr is read as RGB
    case kPalette: return {"palette"};
    case kSeparated: return {"cyan", "magenta", "yellow", "black"};
    default: return {};
  }
}

std::string_view extra_color(std::uint64_t kind) {
  return kind == kAlpha ? "alpha" : kind == kAssociatedAlpha ? "premultiplied alpha" : "undefined";
}

/// All reds, then all greens, then all blues.
Status read_colormap(ByteSource& file, const Directory& directory, RasterInfo& info) {
  constexpr std::uint64_t kMaxColors = 65536;
  const Field* const field = directory.find(Tag::ColorMap);
  if (field == nullptr) return {};
  PENSTOCK_ASSIGN(const auto values, whole_numbers(file, directory, *field, 3 * kMaxColors));
  const std::size_t count = values.size() / 3;
  if (values.size() % 3 != 0)
    return metadata::invalid(where(directory, field->tag), "a colormap of other than three values a color");
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = [&](std::size_t color) {
      return static_cast<std::uint16_t>(std::min<std::uint64_t>(values[color * count + i], 0xFFFF));
    };
    info.colormap.push_back({part(0), part(1), part(2)});
  }
  return {};
}

}  // namespace

Status read_colors(ByteSource& file, const Directory& directory, RasterInfo& info) {
  PENSTOCK_ASSIGN(const std::uint64_t photometric,
                  number_or(file, directory, Tag::PhotometricInterpretation, kBlackIsZero));
  info.white_is_zero = photometric == kWhiteIsZero;
  const std::vector<std::string_view> colors = colors_of(photometric);
  std::vector<std::uint64_t> extra;
  if (const Field* const field = directory.find(Tag::ExtraSamples); field != nullptr) {
    PENSTOCK_ASSIGN(extra, whole_numbers(file, directory, *field, 65535));
  }
  for (std::size_t i = 0; i < info.bands.size(); ++i) {
    const std::size_t behind = i - std::min(i, colors.size());
    if (i < colors.size())
      info.bands[i].color = colors[i];
    else if (!colors.empty())
      info.bands[i].color = extra_color(behind < extra.size() ? extra[behind] : 0);
  }
  return photometric == kPalette ? read_colormap(file, directory, info) : Status();
}

}  // namespace penstock::tiff

// Which image of a file is what: levels, masks, and all that is said about them.
#include <fmt/format.h>

#include <algorithm>

#include "format/tiff/tiff.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint64_t kReduced = 1, kMask = 4;  // bits of NewSubfileType

struct Summary {
  const Directory* directory = nullptr;
  std::uint64_t kind = 0, width = 0, height = 0, bands = 0;
  [[nodiscard]] bool is_mask() const { return (kind & kMask) != 0; }
  [[nodiscard]] bool is_level_of(const Summary& image) const {
    return !is_mask() && (kind & kReduced) != 0 && bands == image.bands && width > 0 && height > 0 &&
           width <= image.width && height <= image.height;
  }
};

Result<Summary> summary_of(ByteSource& file, const Directory& directory) {
  Summary summary{&directory};
  PENSTOCK_ASSIGN(summary.kind, number_or(file, directory, Tag::NewSubfileType, 0));
  PENSTOCK_ASSIGN(summary.width, number_or(file, directory, Tag::ImageWidth, 0));
  PENSTOCK_ASSIGN(summary.height, number_or(file, directory, Tag::ImageLength, 0));
  PENSTOCK_ASSIGN(summary.bands, number_or(file, directory, Tag::SamplesPerPixel, 1));
  return summary;
}

std::string text_of(const Directory& directory, const Result<Summary>& summary) {
  const std::string where = fmt::format("IFD at byte {}", directory.offset_bytes);
  if (!summary) return fmt::format("{}: {}", where, summary.error().message());
  return fmt::format("{}: {} x {} x {}{}", where, summary->bands, summary->height, summary->width,
                     summary->is_mask() ? ", a mask" : "");
}

}  // namespace

Result<Images> find_images(ByteSource& file, const std::vector<Directory>& directories) {
  PENSTOCK_ASSIGN(const Summary first, summary_of(file, directories.front()));
  Images images{{{first.directory, nullptr, first.bands, first.height, first.width}}, {}};
  std::vector<Summary> masks;
  for (std::size_t i = 1; i < directories.size(); ++i) {
    const Result<Summary> summary = summary_of(file, directories[i]);
    if (summary && summary->is_mask())
      masks.push_back(*summary);
    else if (summary && summary->is_level_of(first) && images.levels.size() < kMaxLevels)
      images.levels.push_back({summary->directory, nullptr, summary->bands, summary->height, summary->width});
    else
      images.others.push_back(text_of(directories[i], summary));
  }
  std::stable_sort(images.levels.begin() + 1, images.levels.end(),
                   [](const LevelImages& a, const LevelImages& b) { return a.width > b.width; });
  for (const Summary& mask : masks) {
    const auto of = std::ranges::find_if(images.levels, [&](const LevelImages& level) {
      return level.mask == nullptr && level.width == mask.width && level.height == mask.height;
    });
    if (of == images.levels.end())
      images.others.push_back(text_of(*mask.directory, mask));
    else
      of->mask = mask.directory;
  }
  return images;
}

Result<RasterFile> parse_raster(ByteSource& file, std::string_view key) {
  PENSTOCK_ASSIGN(const std::vector<Directory> directories, read_directories(file, kMaxImages));
  PENSTOCK_ASSIGN(const Images images, find_images(file, directories));
  PENSTOCK_ASSIGN(Place place, read_place(file, directories.front()));
  RasterFile raster;
  for (const LevelImages& level : images.levels) {
    raster.levels.push_back({{level.bands, level.height, level.width},
                             parse_image(file, *level.image, key, ImageUse::image),
                             std::nullopt});
    if (level.mask != nullptr) raster.levels.back().mask = parse_image(file, *level.mask, key, ImageUse::mask);
  }
  Result<Dataset>& first = raster.levels.front().dataset;
  if (!first) return first.error();
  RasterInfo& info = raster.info;
  info.transform = place.transform;
  info.pixel_is_point = place.pixel_is_point;
  info.crs = std::move(place.crs);
  info.gcps = std::move(place.gcps);
  info.other_images = images.others;
  info.bands.resize(images.levels.front().bands);
  if (place.has_keys || place.transform)
    info.tags.emplace_back("AREA_OR_POINT", place.pixel_is_point ? "Point" : "Area");
  PENSTOCK_TRY(read_colors(file, directories.front(), info));
  PENSTOCK_ASSIGN(info.other_fields, other_fields(file, directories.front()));
  PENSTOCK_TRY(read_tags(file, directories.front(), info));
  PENSTOCK_TRY(read_profiles(file, directories.front(), info));
  return raster;
}

}  // namespace penstock::tiff

// TIFF files -> Dataset and Raster.  TIFF 6.0, BigTIFF, OGC GeoTIFF 1.1
// (https://docs.ogc.org/is/19-008r4/19-008r4.html)
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "format/raster.hpp"
#include "format/tiff/directory.hpp"
#include "penstock/dataset.hpp"

namespace penstock::tiff {

/// Of a file with more only the first ones are looked at.
inline constexpr std::size_t kMaxImages = 4096;
/// Each half as large as the one before, 32 would be enough; more images that could be levels count as others.
inline constexpr std::size_t kMaxLevels = 64;

/// The first image of the file at `key`: shape (band, y, x), one chunk a tile or strip, which lie where the tables of
/// the file say; absent tiles are the value that was not measured, or 0.  Elements are as stored: no palette, scale or
/// offset is applied.  Errors: invalid_metadata and corrupt_data naming directory and tag, unsupported naming what.
Result<Dataset> parse(ByteSource& file, std::string_view key);
/// The first image with its levels and masks, and what is said about it.  Errors: as `parse`; those of levels and masks
/// stand in their place.
Result<RasterFile> parse_raster(ByteSource& file, std::string_view key);

/// What keeps the file from being a Cloud Optimized GeoTIFF, a line each; empty: it is one.  `every_tile`: also what
/// stands around each tile, where the ghost area promises it.  Errors: as `parse`.
Result<std::vector<std::string>> cog_problems(ByteSource& file, bool every_tile);

/// What an image is for: samples of one bit are read of masks only.
enum class ImageUse : std::uint8_t { image, mask };
/// The image of one directory, without its place on the ground.
Result<Dataset> parse_image(ByteSource& file, const Directory& directory, std::string_view key, ImageUse use);

/// A directory that holds a level, and that of its mask.
struct LevelImages {
  const Directory* image = nullptr;
  const Directory* mask = nullptr;  ///< nullptr: none
  std::uint64_t bands = 0, height = 0, width = 0;
};
/// What the directories are, by what they say; the levels finest first, the first of them the first image.
struct Images {
  std::vector<LevelImages> levels;
  std::vector<std::string> others;  ///< neither level nor mask: "IFD at byte 4711: 3 x 100 x 200"
};
Result<Images> find_images(ByteSource& file, const std::vector<Directory>& directories);

/// Of a file with more it is not believed.
inline constexpr std::size_t kMaxControlPoints = 65536;
/// Coefficients of a sensor.
inline constexpr std::size_t kRpcNumbers = 92;

/// Where on the Earth the image lies.
struct Place {
  std::optional<GeoTransform> transform;  ///< of corners
  bool pixel_is_point = false, has_keys = false;
  std::optional<Crs> crs;
  std::vector<GroundControlPoint> gcps;
};
/// Errors: invalid_metadata naming the tag.
Result<Place> read_place(ByteSource& file, const Directory& directory);
/// The place as attributes (GeoZarr's), and as scales and offsets of the dimensions (band, y, x).
void tell_place(const Place& place, Json& attributes, std::vector<Dimension>& dims);

/// Fields of the file that are among its tags, as GDAL calls them.
struct NamedTag {
  std::uint16_t tag;
  const char* name;
};
inline constexpr NamedTag kTextTags[] = {
    {269, "TIFFTAG_DOCUMENTNAME"}, {270, "TIFFTAG_IMAGEDESCRIPTION"}, {305, "TIFFTAG_SOFTWARE"},
    {306, "TIFFTAG_DATETIME"},     {315, "TIFFTAG_ARTIST"},           {316, "TIFFTAG_HOSTCOMPUTER"},
    {33432, "TIFFTAG_COPYRIGHT"},
};
inline constexpr NamedTag kResolutionTags[] = {{282, "TIFFTAG_XRESOLUTION"}, {283, "TIFFTAG_YRESOLUTION"}};
inline constexpr NamedTag kResolutionUnitTag = {296, "TIFFTAG_RESOLUTIONUNIT"};
/// Of the values 1 to 3.
inline constexpr const char* kResolutionUnits[] = {"1 (unitless)", "2 (pixels/inch)", "3 (pixels/cm)"};

/// Colors of the bands, and the colormap.  Errors: invalid_metadata naming the tag.
Status read_colors(ByteSource& file, const Directory& directory, RasterInfo& info);
/// Domains of GDAL's metadata, and names in them, of what lies in fields of its own.
inline constexpr const char* kIccDomain = "COLOR_PROFILE";
inline constexpr const char* kIccName = "SOURCE_ICC_PROFILE";  ///< as base64
inline constexpr const char* kXmpDomain = "xml:XMP";           ///< and its name
/// Profiles of the image, as domains.  Errors: corrupt_data.
Status read_profiles(ByteSource& file, const Directory& directory, RasterInfo& info);
/// Fields that nothing here reads, and no copy keeps: "EXIF (field 34665)".
Result<std::vector<std::string>> other_fields(ByteSource& file, const Directory& directory);
/// Texts of the file, and what GDAL's metadata say of it and of its bands.  Errors: invalid_metadata naming the tag.
Status read_tags(ByteSource& file, const Directory& directory, RasterInfo& info);

}  // namespace penstock::tiff

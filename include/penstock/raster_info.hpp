// What a raster file says besides its elements: pure data.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// {a, b, c, d, e, f}: x = a column + b row + c, y = d column + e row + f, in the units of the CRS; column 0, row 0 is
/// the outer corner of the first pixel.  The order is that of rasterio and affine.
using GeoTransform = std::array<double, 6>;

/// A rectangle on the ground, in the units of the CRS.
struct GroundBounds {
  double left = 0, bottom = 0, right = 0, top = 0;
  bool operator==(const GroundBounds&) const = default;
};

/// Where a place of the raster (in pixels, 0 is an outer edge) lies on the ground.
struct GroundControlPoint {
  double row = 0, column = 0;
  double x = 0, y = 0, z = 0;
  bool operator==(const GroundControlPoint&) const = default;
};

/// The keys of a GeoTIFF as they stand in a file: GeoKeyDirectory, GeoDoubleParams and GeoAsciiParams.
struct GeoKeys {
  std::vector<std::uint16_t> directory;
  std::vector<double> numbers;
  std::string texts;
  bool operator==(const GeoKeys&) const = default;
};

/// A coordinate reference system, as far as a file names it.
struct Crs {
  std::optional<std::uint32_t> epsg;  ///< code of the projected or geographic system; nullopt: not one of EPSG's
  std::optional<std::uint32_t> vertical_epsg;  ///< code of the vertical system; nullopt: none
  std::string name;                            ///< what the file calls it; may be empty
  std::optional<GeoKeys> keys = {};            ///< of a system that codes alone do not say: what defines it
  bool operator==(const Crs&) const = default;
};
/// Well-known text (WKT2:2019) of a CRS, by its codes or the keys that define it, and of its vertical system, by PROJ,
/// which is looked for when this is called first (libproj.so.25, .22 or libproj.so).  Errors: unsupported (no PROJ, no
/// more than a name, a projection or unit that PROJ does not know), invalid_metadata (parameters that are missing or no
/// numbers), not_found (PROJ does not know a code).  They name the key.
PENSTOCK_API Result<std::string> crs_wkt(const Crs& crs);
/// The CRS that a text says: an EPSG code ("EPSG:32633", "32633"), or by PROJ well-known text (WKT 1 or 2, or ESRI's),
/// PROJJSON, a string of PROJ ("+proj=laea +lat_0=52"), a code of another authority ("ESRI:54009").  A text with a code
/// of EPSG is that code; else keys of GeoTIFF define the same system.  Errors: invalid_argument (no such text, or PROJ
/// does not take it), unsupported (no PROJ; a system that a GeoTIFF cannot say, and why).
PENSTOCK_API Result<Crs> parse_crs(std::string_view text);

/// Names and texts, in the order of the file.
using Tags = std::vector<std::pair<std::string, std::string>>;

/// Texts by the domain that they belong to ("xml:XMP", "MY_PROGRAM"); those of no domain are Tags of their own.
using TagDomains = std::vector<std::pair<std::string, Tags>>;

/// What is known of one band.
struct BandInfo {
  double scale = 1, offset = 0;  ///< a value is scale * element + offset; nothing is applied by reading
  std::string unit;              ///< of the values; may be empty
  std::string description;       ///< may be empty
  Tags tags;
  TagDomains domains = {};
  /// What it shows: "gray", "palette", "red", "green", "blue", "alpha", "premultiplied alpha", "cyan", "magenta",
  /// "yellow", "black", "undefined", or another word of GDAL's ("nir"); empty: not said.
  std::string color = {};
};

/// What a raster file says besides its elements.
struct RasterInfo {
  std::optional<GeoTransform> transform;  ///< of the finest level; nullopt: not said, or only by control points
  bool pixel_is_point = false;  ///< the file gives places of pixels' middles; `transform` is of corners anyway
  std::optional<Crs> crs;       ///< nullopt: not said
  std::vector<GroundControlPoint> gcps;
  Tags tags;                    ///< of the whole file
  TagDomains domains;           ///< other texts of the whole file
  std::vector<BandInfo> bands;  ///< one each
  /// Red, green and blue (0 to 65535) of each value of a band of color "palette"; elsewhere empty.
  std::vector<std::array<std::uint16_t, 3>> colormap;
  bool white_is_zero = false;  ///< a band of gray whose 0 is white
  /// Rational polynomial coefficients of a sensor, in the order of the TIFF field 50844; empty: none.
  std::vector<double> rpc;
  /// Images in the same file that are neither a level nor a mask, and are not read: "IFD at byte 4711: 3 x 100 x 200".
  std::vector<std::string> other_images;
  /// Fields of the image that are not read, and that no copy keeps: "EXIF (field 34665)".
  std::vector<std::string> other_fields;
  /// Files beside it that other programs read with it, and that are not read here: "dem.tif.ovr".
  std::vector<std::string> sidecars;
};

}  // namespace penstock

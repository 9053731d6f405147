// The keys of a GeoTIFF, looked up by number.  OGC GeoTIFF 1.1, 7 and Annex D.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/tiff/directory.hpp"
#include "penstock/raster_info.hpp"

namespace penstock::tiff {

/// Keys by their names in the specification.
enum class Key : std::uint16_t {
  GTModelType = 1024,
  GTRasterType = 1025,
  GTCitation = 1026,
  GeodeticCRS = 2048,
  GeodeticCitation = 2049,
  GeodeticDatum = 2050,
  PrimeMeridian = 2051,
  GeogLinearUnits = 2052,
  GeogLinearUnitSize = 2053,
  GeogAngularUnits = 2054,
  GeogAngularUnitSize = 2055,
  Ellipsoid = 2056,
  EllipsoidSemiMajorAxis = 2057,
  EllipsoidSemiMinorAxis = 2058,
  EllipsoidInvFlattening = 2059,
  PrimeMeridianLongitude = 2061,
  GeogTOWGS84 = 2062,  // GDAL's, not in the specification
  ProjectedCRS = 3072,
  ProjectedCitation = 3073,
  Projection = 3074,
  ProjMethod = 3075,
  ProjLinearUnits = 3076,
  ProjLinearUnitSize = 3077,
  ProjStdParallel1 = 3078,
  ProjStdParallel2 = 3079,
  ProjNatOriginLong = 3080,
  ProjNatOriginLat = 3081,
  ProjFalseEasting = 3082,
  ProjFalseNorthing = 3083,
  ProjFalseOriginLong = 3084,
  ProjFalseOriginLat = 3085,
  ProjFalseOriginEasting = 3086,
  ProjFalseOriginNorthing = 3087,
  ProjCenterLong = 3088,
  ProjCenterLat = 3089,
  ProjCenterEasting = 3090,
  ProjCenterNorthing = 3091,
  ProjScaleAtNatOrigin = 3092,
  ProjScaleAtCenter = 3093,
  ProjAzimuthAngle = 3094,
  ProjStraightVertPoleLong = 3095,
  ProjRectifiedGridAngle = 3096,
  Vertical = 4096,
  VerticalCitation = 4097,
  VerticalDatum = 4098,
  VerticalUnits = 4099,
};

/// Of a file with more it is not believed.
inline constexpr std::uint64_t kMaxGeoNumbers = 4 * 1024, kMaxGeoText = 65536;
/// As many as a directory of that length has.  One more is written: what the place of a pixel is.
inline constexpr std::uint64_t kMaxGeoKeys = kMaxGeoNumbers / 4 - 2;

/// "key 3088 (ProjCenterLong)"; of a key without a name its number.
std::string where(Key key);

/// Codes are EPSG's in this range; 32767 is "defined by the user", what is above is private.
std::optional<std::uint32_t> epsg_code(std::optional<std::uint64_t> value);
inline constexpr std::uint16_t kUserDefined = 32767;

/// The keys of a file.  No directory: there are none.  Errors: invalid_metadata naming the tag.
Result<GeoKeys> read_geo_keys(ByteSource& file, const Directory& directory);

/// A view of keys, which may come from anywhere: what does not fit together is an error or is not there.
class KeyReader {
 public:
  explicit KeyReader(const GeoKeys& keys) : keys_(keys) {}

  /// Of a key whose value stands in the directory itself; of a key that is there twice the first one.
  [[nodiscard]] std::optional<std::uint16_t> value(Key key) const;
  [[nodiscard]] bool has(Key key) const { return find(key) != nullptr; }
  /// Finite.  nullopt: there is no such key.  Errors: invalid_metadata naming the key.
  [[nodiscard]] Result<std::optional<double>> number(Key key) const;
  [[nodiscard]] Result<std::vector<double>> numbers(Key key) const;
  /// Without the bar that ends it; empty: none.
  [[nodiscard]] std::string citation(Key key) const;
  /// A part of a citation as GDAL writes them, "GCS Name = here|Datum = there|"; empty: none.
  [[nodiscard]] std::string part_of_citation(Key key, std::string_view name) const;
  /// Whether there is more than how coordinates are meant: a system by its parameters or by its text.
  [[nodiscard]] bool define_a_system() const;

 private:
  [[nodiscard]] const std::uint16_t* find(Key key) const;
  const GeoKeys& keys_;
};

/// As keys hold a text: characters that are not of ASCII, or none that can be seen, become '?'.
std::string in_ascii(std::string_view text);

/// Keys that are written.
class KeyMaker {
 public:
  void code(Key key, std::uint32_t value) {
    rows_.push_back({number_of(key), 0, 1, static_cast<std::uint16_t>(value)});
  }
  void numbers(Key key, const std::vector<double>& values);
  /// In ASCII.
  void text(Key key, std::string_view value);
  /// In the order of keys, as the specification asks.  Errors: unsupported (texts that are too long).
  [[nodiscard]] Result<GeoKeys> make() &&;

 private:
  static std::uint16_t number_of(Key key) { return static_cast<std::uint16_t>(key); }
  std::vector<std::array<std::uint16_t, 4>> rows_;
  GeoKeys keys_;
};

}  // namespace penstock::tiff

// Files of streamlines: TRX, TRK, TCK.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/dataset.hpp"
#include "penstock/options.hpp"

namespace penstock {

/// What a file of streamlines holds.  All of it was read: a file that is cut off is an error.
struct TractogramSummary {
  std::string format;       ///< "TRX", "TRK", "TCK"
  std::string number_type;  ///< of the points: "float16", "float32", "float64"
  std::uint64_t streamlines = 0, points = 0;
  std::optional<std::array<std::uint64_t, 3>> dims;  ///< of the image; absent: the format does not say it
  std::optional<Affine> world_from_voxel;
  double min_length_mm = 0, mean_length_mm = 0, max_length_mm = 0;
  std::array<float, 3> box_first = {}, box_last = {};  ///< of the points, world, mm
  std::vector<std::string> names;                      ///< what it says of points, streamlines and groups
  std::vector<std::string> left_out;                   ///< of these, what a conversion did not take over
};

/// Numbers that points are written as.  float16 (TRX alone) keeps about three digits: 0.06 mm at 128 mm.
enum class PointType : std::uint8_t { float32, float16 };
/// "float32", "float16".
PENSTOCK_API std::string_view point_type_name(PointType type);
/// Errors: invalid_argument, with the nearest name.
PENSTOCK_API Result<PointType> parse_point_type(std::string_view name);

/// How a file of streamlines is made of another.
struct TractogramOptions {
  std::string reference;                 ///< image whose grid is taken; needed where the file does not say one (TCK)
  bool force = false;                    ///< replace an existing file
  PointType dtype = PointType::float32;  ///< of the points
};

/// Reads a file.  Errors: not_found, invalid_argument (another ending), invalid_metadata, corrupt_data, unsupported,
/// cancelled; naming the file.  Memory: a block of 65536 points, or the longest streamline.
PENSTOCK_API Result<TractogramSummary> tractogram_info(const std::string& path, const Options& options);

/// Writes the streamlines of `path` to `out`, whose ending chooses the format; points as how.dtype, of TRX also seed,
/// seed_index and reason.  The file appears whole or not at all.  Errors: as tractogram_info; also already_exists, and
/// invalid_argument (a reference is needed).
PENSTOCK_API Result<TractogramSummary> convert_tractogram(const std::string& path, const std::string& out,
                                                          const TractogramOptions& how, const Options& options);

/// How many streamlines have a point in each voxel.
struct TractogramDensity {
  std::array<std::uint64_t, 3> dims = {};
  Affine world_from_voxel;
  std::vector<float> counts;  ///< (z, y, x)
  std::uint64_t outside = 0;  ///< points outside of the image
  TractogramSummary summary;
};
/// A point belongs to the voxel whose centre is nearest, as in DIPY's density_map.  Errors: as convert_tractogram.
/// Memory: the map twice.
PENSTOCK_API Result<TractogramDensity> tractogram_density(const std::string& path, const TractogramOptions& how,
                                                          const Options& options);
/// The same as an image `out` (.nii.gz, float32).  Errors: also already_exists.
PENSTOCK_API Result<TractogramDensity> write_tractogram_density(const std::string& path, const std::string& out,
                                                                const TractogramOptions& how, const Options& options);

}  // namespace penstock

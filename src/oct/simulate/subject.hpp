// A made subject: what is true of it, from a seed.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {

/// How large a subject is.
struct SubjectSize {
  std::string_view name;
  std::uint64_t rows, cols;  ///< tiles
  std::uint64_t tile, planes, slices;
  std::uint64_t interval;  ///< planes from slice to slice
  std::uint64_t n_extra;
  double reach;  ///< the largest step between slices, pixels
};
inline constexpr SubjectSize kSubjectSizes[] = {
    {"smoke", 3, 3, 64, 60, 4, 24, 12, 5.0},
    {"small", 5, 5, 128, 60, 4, 24, 20, 12.0},
    {"medium", 8, 8, 256, 60, 4, 24, 32, 25.0},
    {"real", 20, 15, 400, 400, 40, 140, 66, 40.0},
};

inline constexpr double kResolutionMm = 0.01;

/// One slice.
struct SubjectSlice {
  double row = 0, col = 0;            ///< of its first tile in the world, pixels
  double surface = 0;                 ///< planes above the tissue, on average
  double tilt_row = 0, tilt_col = 0;  ///< planes from one end to the other
  double gain = 1;
  std::uint64_t galvo_shift = 0;
};

/// The subject.  World coordinates: pixels (and planes below the first cut) of kResolutionMm.
struct Subject {
  SubjectSize size;
  std::uint64_t seed = 0;
  TileTransform tiles;
  double focal = 0;  ///< planes that the corners of each tile lie deeper than its middle
  std::vector<SubjectSlice> slices;

  static Subject make(const SubjectSize& size, std::uint64_t seed);

  /// Where a tile of a slice lies from the slice's first: transform and a jitter of its own.
  [[nodiscard]] double tile_row(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const;
  [[nodiscard]] double tile_col(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const;
  /// How much light comes back from a place in the world, without anything of the microscope.
  [[nodiscard]] double reflectivity(double plane, double row, double col) const;
  /// Planes above the tissue at a pixel of a tile.
  [[nodiscard]] double surface(std::uint64_t slice, std::uint64_t i, std::uint64_t j, double r, double c) const;
  /// Illumination of a pixel of every tile, mean 1.
  [[nodiscard]] double flat(double r, double c) const;
  /// What the detector gives: a tile of a slice, (planes, rows, columns), with speckle.
  [[nodiscard]] std::vector<float> make_tile(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const;
  [[nodiscard]] double extent_rows() const;
  [[nodiscard]] double extent_cols() const;
  /// truth.json
  [[nodiscard]] Json truth() const;
};

/// nullptr: no such size.
const SubjectSize* find_size(std::string_view name);

}  // namespace penstock::oct

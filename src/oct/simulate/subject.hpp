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
  std::uint64_t planes = 0;
  bool agarose = false;  ///< nothing but agarose
  bool missing = false;  ///< not written, though shifts lead past it
};

/// The subject.  World coordinates: pixels (and planes below the first cut) of kResolutionMm.
struct Subject {
  SubjectSize size;
  std::uint64_t seed = 0;
  TileTransform tiles;
  double focal = 0;  ///< planes that the corners of each tile lie deeper than its middle
  std::vector<SubjectSlice> slices;
  std::vector<std::string> traps = {};  ///< what is odd about it (traps.hpp)
  bool empty_tile = false;              ///< one tile of each slice holds nothing but zeros
  bool no_numbers = false;              ///< an A-line of one tile of each slice is NaN
  bool saturated = false;               ///< a voxel of one tile of each slice is as bright as can be
  std::uint64_t missing_tiles = 0;      ///< of each slice, not written, at most; corners of the grid always are

  static Subject make(const SubjectSize& size, std::uint64_t seed);

  /// Where a tile of a slice lies from the slice's first: transform and a jitter of its own.
  [[nodiscard]] double tile_row(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const;
  [[nodiscard]] double tile_col(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const;
  /// How much light comes back from a place in the world, without anything of the microscope.
  [[nodiscard]] double reflectivity(double plane, double row, double col) const;
  /// Agarose there, be it in tissue or not.
  [[nodiscard]] double agarose(double plane, double row, double col) const;
  /// Planes above the tissue at a place of a slice (pixels from its first tile), as the cut left it.
  [[nodiscard]] double cut(std::uint64_t slice, double row, double col) const;
  /// The same at a pixel of a tile, with the curve of the focus.
  [[nodiscard]] double surface(std::uint64_t slice, std::uint64_t i, std::uint64_t j, double r, double c) const;
  /// Planes that the focus lies deeper at a pixel of every tile, mean 0.
  [[nodiscard]] double bowl(double r, double c) const;
  /// What comes back from `plane` of a slice at a place of it, `top` planes below the first: with attenuation, focus
  /// and the slice's gain, without speckle and illumination.
  [[nodiscard]] double light(std::uint64_t slice, std::uint64_t plane, double top, double row, double col) const;
  [[nodiscard]] bool has_tile(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const;
  /// The tile that the traps of single tiles are in, row by row of the grid.
  [[nodiscard]] std::uint64_t odd_tile(std::uint64_t slice) const;
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

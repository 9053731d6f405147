// How far results lie from the truth.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "oct/file/volume.hpp"

namespace penstock::oct {

/// Elements of two volumes whose bits differ.  Errors: invalid_metadata (their shapes differ), those of reading.
Result<std::uint64_t> different_elements(const Volume& a, const Volume& b, const Options& options);

/// How far a stack of planes lies from where it should.
struct Displacement {
  double row = 0, col = 0;  ///< pixels
  double plane = 0;         ///< planes
  double correlation = 0;   ///< of the planes, where they fit best
};
/// Compares `planes` planes of `made` from `first` on with those of `truth` from `truth_first` on: first along depth,
/// then across, between voxels; across, images should begin where their NGFF metadata say, and are looked for a few
/// pixels about there.  Voxels of 0 are not compared.  nullopt: they are nowhere alike.
Result<std::optional<Displacement>> displacement(const Volume& made, std::uint64_t first, const Volume& truth,
                                                 std::uint64_t truth_first, std::uint64_t planes,
                                                 const Options& options);

/// Correlation of the means over depth, where both lie: images begin where their NGFF metadata say, to the nearest
/// pixel, and 0 is nothing.  -1: nowhere do they share anything.  Errors: those of reading.
Result<double> projection_likeness(const Volume& made, const Volume& truth, const Options& options);

/// By how much of its intensity a volume grows from plane z - 1 to z, where both hold something; nullopt: nowhere.
Result<std::optional<double>> plane_step(const Volume& volume, std::uint64_t z, const Options& options);

/// How the levels of an image fit together.
struct PyramidFit {
  std::uint64_t wrong = 0;  ///< levels that are not half of the one before, or whose scale is not twice its
  double worst_mean = 0;    ///< of a level over what it was made of, relative
};
Result<PyramidFit> compare_pyramid(const std::string& path, const Volume& volume, const Options& options);

}  // namespace penstock::oct

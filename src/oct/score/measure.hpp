// How far results lie from the truth.
#pragma once
#include <cstdint>
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
/// then across, between voxels.  Voxels of 0 are not compared.  nullopt: they are nowhere alike.
Result<std::optional<Displacement>> displacement(const Volume& made, std::uint64_t first, const Volume& truth,
                                                 std::uint64_t truth_first, std::uint64_t planes,
                                                 const Options& options);

}  // namespace penstock::oct

// How much a made subject is, and what a reconstruction makes of it.
#pragma once
#include <cstdint>

#include "oct/simulate/subject.hpp"
#include "penstock/error.hpp"
#include "penstock/region.hpp"

namespace penstock::oct {

/// Bytes of elements; but for the raw tiles, which are stored as they are, before compression.
struct SubjectAmounts {
  std::uint64_t raw_bytes = 0;      ///< the raw tiles
  std::uint64_t truth_bytes = 0;    ///< what `simulate` writes beside them
  std::uint64_t working_bytes = 0;  ///< what `reconstruct` writes beside the volume
  std::uint64_t volume_bytes = 0;   ///< the volume, without coarser levels
  Shape volume;                     ///< its shape
};

/// Of a reconstruction that keeps each slice down to its last plane, at the subject's own resolution.  Errors:
/// invalid_metadata (a transform that is none).
Result<SubjectAmounts> amounts_of(const Subject& subject);

/// The image that holds all slices, where (row, col) of the world is its first pixel.
struct SharedImage {
  double row = 0, col = 0;
  std::uint64_t rows = 0, cols = 0;
};
/// Of images of `rows` x `cols` pixels, each at its slice's place.
SharedImage shared_image(const Subject& subject, double rows, double cols);

}  // namespace penstock::oct

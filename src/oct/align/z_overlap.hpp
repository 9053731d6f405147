// How many planes two slices share.
#pragma once
#include "oct/file/volume.hpp"
#include "oct/step.hpp"

namespace penstock::oct {

/// Planes that two slices share, and how alike they are: the mean product of normalised intensities.
struct ZOverlap {
  std::uint64_t planes = 0;
  double score = 0;
};
/// What is brought to mean 0 and deviation 1 before it is multiplied.
enum class Normalised : std::uint8_t {
  each_plane,  ///< so that what grows dark with depth does not pull the overlap
  together,    ///< all planes of the overlap as one, as linumpy does
};
/// Compares the last planes of `fixed` with the first of `moving` for each number from `least` to `most`, in the middle
/// half of the image; every plane is read once, and all sums of products come from one matrix product a tile.
/// The first of equals.  Errors: invalid_metadata (rows and columns differ), those of reading; with a path.
Result<ZOverlap> best_z_overlap(const Volume& fixed, const Volume& moving, const std::string& fixed_path,
                                const std::string& moving_path, std::uint64_t least, std::uint64_t most, Device device,
                                const Options& options, Normalised normalised = Normalised::each_plane);

Step find_z_overlap_step();

}  // namespace penstock::oct

// What planes are brought to 0 to 1 by, and normalising a mosaic grid, tile by tile.
#pragma once
#include <memory>
#include <vector>

#include "oct/step.hpp"

namespace penstock::oct {

struct NormalizeOptions {
  double percentile_max = 99.9;        ///< of a plane
  double sigma = 1;                    ///< of the Gaussian before agarose is told from tissue, pixels
  double min_contrast_fraction = 0.1;  ///< of the largest range
  std::uint64_t levels = 1;
};
/// Errors: invalid_argument.
Result<NormalizeOptions> normalize_options(const StepCall& call);

/// What a plane is brought from: `low` becomes 0, `high` and above are cut off.
struct PlaneRange {
  double low = 0, high = 0;
};
/// What each plane is divided by.
std::vector<double> spans_of(const std::vector<PlaneRange>& ranges, double min_contrast_fraction);
/// Columns of agarose: darker, smoothed, than Otsu's threshold of those that hold something.
Result<std::vector<std::uint8_t>> agarose_columns(std::vector<float>& projection, std::uint64_t rows,
                                                  std::uint64_t cols, double sigma, const Options& options);
void tell_normalized(const std::vector<PlaneRange>& ranges, const std::vector<std::uint8_t>& agarose, StepDone& done);

/// nullptr: `tiles` is not asked for.
Result<std::unique_ptr<TileStep>> normalize_tiles(const StepCall& call);

}  // namespace penstock::oct

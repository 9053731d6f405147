// Where the galvo's way back lies among the A-lines of a raw tile.
#pragma once
#include <cstdint>
#include <span>

namespace penstock::oct {

/// Lines that a tile is rolled forward by, so that the way back lies behind the sweep; and how sure that is, 0 to 1.
struct GalvoShift {
  std::uint64_t shift = 0;
  double confidence = 0;
};

/// `profile`: the mean intensity of each A-line, circular.  `columns`: the same of single B-scans, one after another,
/// to judge by.  The way back is a band of `n_extra` lines with a step at either end; the steps are of opposite sense.
GalvoShift find_galvo_shift(std::span<const double> profile, std::span<const float> columns, std::uint64_t n_extra);

}  // namespace penstock::oct

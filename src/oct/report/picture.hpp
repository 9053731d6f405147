// Grey pictures for a page, with a scale bar.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::oct {

/// A line drawn over a picture, in its pixels.
struct PictureMark {
  double row = 0, col = 0, to_row = 0, to_col = 0;
  std::string text = {};  ///< beside its beginning
};

/// A grey picture; 0 and what is no number is black.
struct Picture {
  std::uint64_t rows = 0, cols = 0;
  std::vector<float> values;      ///< row by row
  std::string alt;                ///< what it shows
  std::string caption = {};       ///< stands below it
  double row_mm = 0, col_mm = 0;  ///< size of a pixel; 0: not known, so that there is no scale bar
  std::vector<PictureMark> marks = {};
};

/// Intensities that are black and white.
struct Greys {
  float black = 0, white = 1;
};
/// Percentiles 0.5 and 99.5 of what is above 0 in all of them.
Greys greys_of(std::span<const Picture> pictures);
/// "black 1.2, white 30".
std::string to_text(const Greys& greys);

/// Means of squares of pixels, so that no side is longer than `most_pixels`.
Picture shrunk(const Picture& picture, std::uint64_t most_pixels);

/// A <figure> whose pixels are as wide and high as in millimetres, its longest side `most_pixels` on the page.  Errors:
/// out_of_memory.
Result<std::string> figure_html(const Picture& picture, const Greys& greys, std::uint64_t most_pixels);

}  // namespace penstock::oct

#include "oct/report/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/html.hpp"
#include "format/zarr/base64.hpp"
#include "oct/file/png.hpp"

namespace penstock::oct {
namespace {

constexpr double kBlack = 0.005, kWhite = 0.995;  // parts of the pixels that are darker
constexpr double kNarrowest = 160;                // of a figure, so that its caption can be read

std::vector<std::uint16_t> in_grey(const Picture& picture, const Greys& greys) {
  std::vector<std::uint16_t> grey(picture.values.size());
  for (std::size_t i = 0; i < grey.size(); ++i) {
    const float v = (picture.values[i] - greys.black) / (greys.white - greys.black);
    grey[i] = v > 0 && std::isfinite(v) ? static_cast<std::uint16_t>(65535 * std::min(v, 1.0F)) : std::uint16_t{0};
  }
  return grey;
}

/// How a picture stands on the page.
struct Shown {
  double width = 0, height = 0;  ///< CSS pixels
};

/// Pixels are as high as they are in millimetres; the longest side has `most_pixels`.
Shown shown(const Picture& picture, std::uint64_t most_pixels) {
  const bool known = picture.row_mm > 0 && picture.col_mm > 0;
  double width = static_cast<double>(picture.cols);
  double height = static_cast<double>(picture.rows) * (known ? picture.row_mm / picture.col_mm : 1);
  const double scale = static_cast<double>(most_pixels) / std::max(width, height);
  return {std::max(1.0, std::round(scale * width)), std::max(1.0, std::round(scale * height))};
}

/// A length of 1, 2 or 5 times a power of ten that is at most a third of the width.
double bar_mm(double width_mm) {
  const double most = width_mm / 3, power = std::pow(10, std::floor(std::log10(most)));
  const double leading = most / power;
  return power * (leading >= 5 ? 5 : leading >= 2 ? 2 : 1);
}

std::string bar_svg(double width_mm, const Shown& size) {
  const double length = bar_mm(width_mm), pixels = length / width_mm * size.width, y = size.height - 8;
  return fmt::format(
      "<path d=\"M8 {0:.1f}h{1:.1f}\" stroke=\"#000\" stroke-width=\"6\"/>"
      "<path class=bar d=\"M8 {0:.1f}h{1:.1f}\" stroke=\"#fff\" stroke-width=\"3\"/>"
      "<text x=\"8\" y=\"{2:.1f}\">{3:.3g} mm</text>",
      y, pixels, y - 7, length);
}

std::string mark_svg(const PictureMark& mark, const Picture& picture, const Shown& size) {
  const auto x = [&](double col) { return col / static_cast<double>(picture.cols) * size.width; };
  const auto y = [&](double row) { return row / static_cast<double>(picture.rows) * size.height; };
  return fmt::format(
      "<path class=mark d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#e69f00\" stroke-width=\"2\" "
      "stroke-dasharray=\"7 4\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
      x(mark.col), y(mark.row), x(mark.to_col), y(mark.to_row), x(mark.col) + 4, y(mark.row) + 13,
      escaped_html(mark.text));
}

}  // namespace

Greys greys_of(std::span<const Picture> pictures) {
  std::vector<float> bright;
  for (const Picture& picture : pictures)
    for (const float v : picture.values)
      if (v > 0 && std::isfinite(v)) bright.push_back(v);
  if (bright.empty()) return {};
  const auto at = [&](double part) {
    const auto k = static_cast<std::ptrdiff_t>(part * static_cast<double>(bright.size() - 1));
    std::ranges::nth_element(bright, bright.begin() + k);
    return bright[static_cast<std::size_t>(k)];
  };
  const float black = at(kBlack);
  return {black, std::max(at(kWhite), std::nextafter(black, 2 * black + 1))};
}

std::string to_text(const Greys& greys) { return fmt::format("black {:.3g}, white {:.3g}", greys.black, greys.white); }

Picture shrunk(const Picture& picture, std::uint64_t most_pixels) {
  const std::uint64_t longest = std::max(picture.rows, picture.cols);
  const std::uint64_t factor = std::max<std::uint64_t>((longest + most_pixels - 1) / most_pixels, 1);
  if (factor == 1) return picture;
  const auto by = static_cast<double>(factor);
  Picture small = {(picture.rows + factor - 1) / factor,
                   (picture.cols + factor - 1) / factor,
                   {},
                   picture.alt,
                   picture.caption,
                   by * picture.row_mm,
                   by * picture.col_mm};
  small.values.resize(small.rows * small.cols);
  for (std::uint64_t r = 0; r < small.rows; ++r)
    for (std::uint64_t c = 0; c < small.cols; ++c) {
      double sum = 0;
      std::uint64_t count = 0;
      for (std::uint64_t y = r * factor; y < std::min((r + 1) * factor, picture.rows); ++y)
        for (std::uint64_t x = c * factor; x < std::min((c + 1) * factor, picture.cols); ++x, ++count)
          sum += picture.values[y * picture.cols + x];
      small.values[r * small.cols + c] = static_cast<float>(sum / static_cast<double>(count));
    }
  for (const PictureMark& mark : picture.marks)
    small.marks.push_back({mark.row / by, mark.col / by, mark.to_row / by, mark.to_col / by, mark.text});
  return small;
}

Result<std::string> figure_html(const Picture& picture, const Greys& greys, std::uint64_t most_pixels) {
  const Picture small = shrunk(picture, most_pixels);
  PENSTOCK_ASSIGN(const std::string png, png_text(static_cast<std::uint32_t>(small.cols),
                                                  static_cast<std::uint32_t>(small.rows), in_grey(small, greys)));
  const Shown size = shown(small, most_pixels);
  std::string over;
  for (const PictureMark& mark : small.marks) over += mark_svg(mark, small, size);
  if (small.col_mm > 0) over += bar_svg(small.col_mm * static_cast<double>(small.cols), size);
  return fmt::format(
      "<figure style=\"width:{0}px\"><div class=picture style=\"width:{1}px;aspect-ratio:{1}/{2}\">"
      "<img alt=\"{3}\" src=\"data:image/png;base64,{4}\"><svg viewBox=\"0 0 {1} {2}\" aria-hidden=true>{5}</svg></div>"
      "<figcaption>{6}</figcaption></figure>\n",
      std::max(size.width, kNarrowest), size.width, size.height, escaped_html(small.alt), to_base64(as_bytes(png)),
      over, escaped_html(small.caption));
}

}  // namespace penstock::oct

#include "oct/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/html.hpp"
#include "format/zarr/base64.hpp"
#include "oct/file/png.hpp"

namespace penstock::oct {
namespace {

constexpr double kBlack = 0.005, kWhite = 0.995;  // parts of the pixels that are darker

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "img{max-width:100%;background:#000;image-rendering:auto}figure{margin:.5rem 0}figcaption{font-size:.85rem}"
    "table{border-collapse:collapse;margin:.5rem 0}th,td{text-align:left;padding:.2rem .9rem .2rem 0;"
    "border-bottom:1px solid #ddd;vertical-align:top}.n{text-align:right;white-space:nowrap}"
    ".row{display:flex;flex-wrap:wrap;gap:1rem}svg{max-width:100%}";

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.,+-eE") == std::string::npos;
}

std::vector<std::uint16_t> in_grey(const Picture& picture) {
  std::vector<float> bright;
  for (const float v : picture.values)
    if (v > 0 && std::isfinite(v)) bright.push_back(v);
  std::vector<std::uint16_t> grey(picture.values.size());
  if (bright.empty()) return grey;
  const auto at = [&](double part) {
    const auto k = static_cast<std::ptrdiff_t>(part * static_cast<double>(bright.size() - 1));
    std::ranges::nth_element(bright, bright.begin() + k);
    return bright[static_cast<std::size_t>(k)];
  };
  const float black = at(kBlack), white = std::max(at(kWhite), std::nextafter(black, 2 * black + 1));
  for (std::size_t i = 0; i < grey.size(); ++i) {
    const float v = (picture.values[i] - black) / (white - black);
    grey[i] = v > 0 && std::isfinite(v) ? static_cast<std::uint16_t>(65535 * std::min(v, 1.0F)) : std::uint16_t{0};
  }
  return grey;
}

}  // namespace

Picture shrunk(const Picture& picture, std::uint64_t most_pixels) {
  const std::uint64_t longest = std::max(picture.rows, picture.cols);
  const std::uint64_t factor = std::max<std::uint64_t>((longest + most_pixels - 1) / most_pixels, 1);
  if (factor == 1) return picture;
  Picture small{(picture.rows + factor - 1) / factor, (picture.cols + factor - 1) / factor, {}, picture.alt};
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
  return small;
}

void Page::heading(std::string_view text) { body_ += fmt::format("<h2>{}</h2>\n", escaped_html(text)); }

void Page::text(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", escaped_html(text)); }

void Page::table(const std::vector<std::vector<std::string>>& rows) {
  body_ += "<table>\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    body_ += "<tr>";
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      // A name stands as what is below it.
      const std::string& like = r == 0 && rows.size() > 1 && c < rows[1].size() ? rows[1][c] : rows[r][c];
      body_ += fmt::format("<{0}{1}>{2}</{0}>", r == 0 ? "th" : "td", is_number(like) ? " class=n" : "",
                           escaped_html(rows[r][c]));
    }
    body_ += "</tr>\n";
  }
  body_ += "</table>\n";
}

Status Page::picture(const Picture& picture, std::string_view caption, std::uint64_t most_pixels) {
  const Picture small = shrunk(picture, most_pixels);
  if (small.values.empty()) return {};
  PENSTOCK_ASSIGN(const std::string png, png_text(static_cast<std::uint32_t>(small.cols),
                                                  static_cast<std::uint32_t>(small.rows), in_grey(small)));
  body_ += fmt::format(
      "<figure><img width={} height={} alt=\"{}\" src=\"data:image/png;base64,{}\"><figcaption>{}</figcaption></figure>"
      "\n",
      small.cols, small.rows, escaped_html(picture.alt), to_base64(as_bytes(png)), escaped_html(caption));
  return {};
}

void Page::chart(const Chart& chart) {
  if (std::ranges::all_of(chart.lines, [](const Line& line) { return line.x.empty(); }))
    text(chart.alt + ": nothing was measured");
  else
    body_ +=
        "<figure>" + chart_svg(chart) + fmt::format("<figcaption>{}</figcaption></figure>\n", escaped_html(chart.alt));
}

std::string Page::html() const {
  return fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{0}</title>\n"
      "<meta name=viewport content=\"width=device-width\"><link rel=icon href=\"data:,\">\n"
      "<style>{1}</style></head>\n<body><h1>{0}</h1>\n{2}</body></html>\n",
      escaped_html(title_), kStyle, body_);
}

}  // namespace penstock::oct

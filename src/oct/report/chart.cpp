// Charts as SVG.  https://www.w3.org/TR/SVG2/
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/html.hpp"
#include "oct/report/page.hpp"

namespace penstock::oct {
namespace {

constexpr double kNarrow = 480, kWide = 980, kHeight = 300, kLeft = 64, kRight = 14, kNames = 74, kBottom = 46;
constexpr double kNameWidth = 26;  // of a mark's, about
// Distinguished by everybody: https://jfly.uni-koeln.de/color/
constexpr std::string_view kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

/// Of line k of `count`: few lines differ as far as they can, many go from blue to orange in their order.
std::string colour_of(std::size_t k, std::size_t count) {
  if (count <= std::size(kColours)) return std::string(kColours[k]);
  const double part = static_cast<double>(k) / static_cast<double>(count - 1);
  const auto mixed = [&](int first, int last) { return static_cast<int>(std::lround(first + part * (last - first))); };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(0x00, 0xe6), mixed(0x45, 0x9f), mixed(0xb2, 0x00));
}

/// What an axis shows, and its marks.
struct Axis {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity(), step = 1;
  void take(double v) {
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
  /// Marks at 1, 2 or 5 times a power of ten, some five of them.
  void finish() {
    if (!(low <= high)) low = 0, high = 1;
    if (high - low < 1e-9 * std::max(1.0, std::abs(low))) low -= 0.5, high += 0.5;
    const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    const double leading = rough / power;
    step = power * (leading <= 1 ? 1 : leading <= 2 ? 2 : leading <= 5 ? 5 : 10);
  }
  /// The same, from a mark to a mark.
  void finish_at_marks() {
    finish();
    low = std::floor(low / step) * step, high = std::ceil(high / step) * step;
  }
  [[nodiscard]] double part(double v) const { return (v - low) / (high - low); }
  [[nodiscard]] std::vector<double> marks() const {
    std::vector<double> at;
    for (double k = std::ceil(low / step - 1e-6); k * step <= high + 1e-6 * step; ++k) at.push_back(k * step);
    return at;
  }
};

struct Frame {
  Axis x, y;
  double width = kNarrow, right = kNarrow - kRight, top = 12;
  [[nodiscard]] double at_x(double v) const { return kLeft + x.part(v) * (right - kLeft); }
  [[nodiscard]] double at_y(double v) const { return kHeight - kBottom - y.part(v) * (kHeight - top - kBottom); }
};

std::string grid_svg(const Frame& frame, const Chart& chart) {
  std::string out;
  const auto number = [](double v) { return fmt::format("{:.6g}", std::abs(v) < 1e-12 ? 0.0 : v); };
  for (const double v : frame.x.marks())
    out += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#eee\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
        frame.at_x(v), frame.top, kHeight - kBottom, kHeight - kBottom + 15, number(v));
  for (const double v : frame.y.marks())
    out += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#eee\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, frame.right, frame.at_y(v), kLeft - 6, frame.at_y(v) + 4, number(v));
  out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (kLeft + frame.right) / 2,
                     kHeight - 10, escaped_html(chart.x_name));
  const double middle = (frame.top + kHeight - kBottom) / 2;
  return out + fmt::format("<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                           middle, escaped_html(chart.y_name));
}

std::string line_svg(const Frame& frame, const Line& line, std::string_view colour, bool dots) {
  std::string points, marks;
  for (std::size_t i = 0; i < std::min(line.x.size(), line.y.size()); ++i) {
    if (!std::isfinite(line.x[i]) || !std::isfinite(line.y[i])) continue;
    points += fmt::format("{:.1f},{:.1f} ", frame.at_x(line.x[i]), frame.at_y(line.y[i]));
    if (dots)
      marks += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{} {:.6g}, {:.6g}</title>"
          "</circle>\n",
          frame.at_x(line.x[i]), frame.at_y(line.y[i]), colour, escaped_html(line.name), line.x[i], line.y[i]);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n{}", points, colour,
                     marks);
}

/// Lines across the chart; names that would lie over the one before are left out.
std::string marks_svg(const Frame& frame, const Chart& chart) {
  std::string out;
  double free = 0;
  for (const ChartMark& mark : chart.marks) {
    const double x = frame.at_x(mark.x);
    if (!std::isfinite(x) || x < kLeft || x > frame.right) continue;
    out += fmt::format(
        "<line class=mark x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#777\" "
        "stroke-dasharray=\"4 3\"/>\n",
        x, frame.top, kHeight - kBottom);
    if (x < free) continue;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{}</text>\n", x, frame.top - 4,
                       escaped_html(mark.name));
    free = x + kNameWidth;
  }
  return out;
}

/// At the right of the chart; of many lines the first, the middle and the last.
std::string names_svg(const Frame& frame, const Chart& chart) {
  const std::size_t count = chart.lines.size();
  if (count < 2) return "";
  std::string out;
  double at = frame.top + 12;
  for (std::size_t k = 0; k < count; ++k) {
    if (count > std::size(kColours) && k != 0 && k != count / 2 && k != count - 1) continue;
    out += fmt::format("<text x=\"{}\" y=\"{:.0f}\" fill=\"{}\">{}</text>\n", frame.right + 8, at, colour_of(k, count),
                       escaped_html(chart.lines[k].name));
    at += 16;
  }
  return out;
}

}  // namespace

std::string chart_svg(const Chart& chart) {
  Frame frame;
  for (const Line& line : chart.lines) {
    std::ranges::for_each(line.x, [&](double v) { frame.x.take(v); });
    std::ranges::for_each(line.y, [&](double v) { frame.y.take(v); });
  }
  frame.x.finish(), frame.y.finish_at_marks();
  frame.width = chart.wide ? kWide : kNarrow;
  frame.right = frame.width - (chart.lines.size() > 1 ? kNames : kRight);
  if (!chart.marks.empty()) frame.top += 14;
  std::string body = grid_svg(frame, chart) + marks_svg(frame, chart);
  for (std::size_t k = 0; k < chart.lines.size(); ++k)
    body += line_svg(frame, chart.lines[k], colour_of(k, chart.lines.size()), chart.dots);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{0}\" width=\"{1}\" height=\"{2}\" "
      "viewBox=\"0 0 {1} {2}\" font-family=\"system-ui,sans-serif\" font-size=\"12\">\n{3}{4}</svg>",
      escaped_html(chart.alt), frame.width, kHeight, body, names_svg(frame, chart));
}

}  // namespace penstock::oct

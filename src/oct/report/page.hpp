// An HTML page that needs nothing besides itself: text, tables, pictures and charts.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oct/report/checks.hpp"
#include "oct/report/picture.hpp"
#include "penstock/error.hpp"

namespace penstock::oct {

/// A line of a chart.
struct Line {
  std::string name;
  std::vector<double> x, y;
};
/// A line across a chart, with a short name at its top.
struct ChartMark {
  double x = 0;
  std::string name;
};
/// Lines over common axes.
struct Chart {
  std::string alt;             ///< what it shows
  std::string x_name, y_name;  ///< with units
  std::vector<Line> lines;
  bool dots = false;  ///< a dot at each point
  std::vector<ChartMark> marks = {};
  bool wide = false;  ///< as wide as the page
};

/// Where pictures, charts and tables are put one after another.
class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}
  /// A link leads to a heading from what stands in `summary`.
  void heading(std::string_view text);
  void text(std::string_view text);
  /// The first row holds names.  Cells that are numbers stand at the right; "good" and "bad" are seen to be that.
  void table(const std::vector<std::vector<std::string>>& rows);
  /// Side by side, as PNG inside the page; the caption of each ends with the intensities that are its black and white.
  Status pictures(std::span<const Picture> pictures, std::uint64_t most_pixels);
  /// The same with one black and white for all, so that they can be compared; a sentence says them.
  Status alike_pictures(std::span<const Picture> pictures, std::uint64_t most_pixels);
  /// As SVG inside the page; a chart without points says so.
  void chart(const Chart& chart);
  /// Charts up to the next `end_row` stand side by side.
  void begin_row() { body_ += "<div class=row>\n"; }
  void end_row() { body_ += "</div>\n"; }
  /// What stands first on the page: checks that are not good, and how many warnings there are.
  void summary(std::span<const Check> checks, std::size_t warnings);
  [[nodiscard]] std::string html() const;

 private:
  std::string title_, summary_, body_;
};

/// An <svg> element.
std::string chart_svg(const Chart& chart);

}  // namespace penstock::oct

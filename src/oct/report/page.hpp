// An HTML page that needs nothing besides itself: text, tables, pictures and charts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::oct {

/// A grey picture; 0 and what is no number is black.
struct Picture {
  std::uint64_t rows = 0, cols = 0;
  std::vector<float> values;  ///< row by row
  std::string alt;            ///< what it shows
};

/// A line of a chart.
struct Line {
  std::string name;
  std::vector<double> x, y;
};
/// Lines over common axes.
struct Chart {
  std::string alt;             ///< what it shows
  std::string x_name, y_name;  ///< with units
  std::vector<Line> lines;
  bool dots = false;  ///< a dot at each point
};

/// Where pictures, charts and tables are put one after another.
class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}
  void heading(std::string_view text);
  void text(std::string_view text);
  /// The first row holds names.  Cells that are numbers stand at the right.
  void table(const std::vector<std::vector<std::string>>& rows);
  /// As PNG inside the page, between the percentiles 0.5 and 99.5 of what is above 0, shrunk to `most_pixels` a side.
  /// `caption` stands below it.  Errors: out_of_memory.
  Status picture(const Picture& picture, std::string_view caption, std::uint64_t most_pixels = 480);
  /// As SVG inside the page; a chart without points says so.
  void chart(const Chart& chart);
  /// Pictures and charts up to the next `end_row` stand side by side.
  void begin_row() { body_ += "<div class=row>\n"; }
  void end_row() { body_ += "</div>\n"; }
  [[nodiscard]] std::string html() const;

 private:
  std::string title_, body_;
};

/// Means of squares of pixels, so that no side is longer than `most_pixels`.
Picture shrunk(const Picture& picture, std::uint64_t most_pixels);
/// An <svg> element.
std::string chart_svg(const Chart& chart);

}  // namespace penstock::oct

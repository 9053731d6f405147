// Text in columns.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::cli {

/// Columns that a text takes on a terminal, for UTF-8 without wide characters; colours take none.
std::size_t text_width(std::string_view text);

/// Words of `text` in lines of at most `width` characters; line breaks in it are kept.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Rows of cells, aligned when printed.
class Table {
 public:
  /// `align`: one letter a column, 'l' or 'r'.
  explicit Table(std::string align) : align_(std::move(align)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Every line starts with `indent`; columns are two blanks apart; no blanks at line ends.  In a table wider than
  /// `max_width` the widest columns are folded; a word is kept whole, however long.
  [[nodiscard]] std::string text(std::string_view indent = " ", std::size_t max_width = SIZE_MAX) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t available) const;
  std::string align_;
  std::vector<std::vector<std::string>> rows_;
};

/// Columns of the terminal that standard output goes to; SIZE_MAX when it goes elsewhere.
std::size_t terminal_width();

/// Columns for a table that may be wide: those of the terminal, however many; 100 elsewhere.
std::size_t table_width();

/// Columns of a page of text: those of the terminal, at most 100, as everywhere else; at least 40.
std::size_t page_width();

/// Names, and beside them what they are, wrapped to the page.  The names get `left` columns; 0: as many as the longest
/// takes, at most 28; what is longer has a line for itself.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows, std::size_t left = 0);

}  // namespace penstock::cli

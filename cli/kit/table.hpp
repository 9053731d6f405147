// Text in columns.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cli {

/// Columns that a text takes on a terminal, for UTF-8 without wide characters.
std::size_t text_width(std::string_view text);

/// Words of `text` in lines of at most `width` characters; line breaks in it are kept.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Rows of cells, aligned when printed.
class Table {
 public:
  /// `align`: one letter a column, 'l' or 'r'.
  explicit Table(std::string align) : align_(std::move(align)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Every line starts with `indent`; columns are two blanks apart; no blanks at line ends.
  [[nodiscard]] std::string text(std::string_view indent = " ") const;

 private:
  std::string align_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace penstock::cli

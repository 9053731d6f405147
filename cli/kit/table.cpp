#include "cli/kit/table.hpp"

#include <algorithm>

namespace penstock::cli {

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] == '\n') {
      lines.emplace_back();
      ++i;
      continue;
    }
    if (text[i] == ' ' && (lines.back().empty() || lines.back().back() != ' ')) {
      ++i;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", i), text.size());
    const std::string_view word = text.substr(i, end - i);
    if (!lines.back().empty() && text_width(lines.back()) + 1 + text_width(word) > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    i = end;
  }
  return lines;
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths(align_.size(), 0);
  for (const auto& cells : rows_)
    for (std::size_t c = 0; c < std::min(cells.size(), widths.size()); ++c)
      widths[c] = std::max(widths[c], text_width(cells[c]));
  std::string out;
  for (const auto& cells : rows_) {
    std::string line(indent);
    for (std::size_t c = 0; c < std::min(cells.size(), widths.size()); ++c) {
      const std::string pad(widths[c] - text_width(cells[c]), ' ');
      if (c > 0) line += "  ";
      line += align_[c] == 'r' ? pad + cells[c] : cells[c] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace penstock::cli

#include "cli/kit/table.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

namespace penstock::cli {
namespace {

constexpr std::size_t kPageWidth = 100;

}  // namespace

std::size_t text_width(std::string_view text) {
  std::size_t width = 0;
  bool colour = false;
  for (const char c : text) {
    colour = colour || c == '\x1b';
    if (!colour && (static_cast<unsigned char>(c) & 0xC0) != 0x80) ++width;
    colour = colour && c != 'm';
  }
  return width;
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

std::vector<std::size_t> Table::widths(std::size_t available) const {
  std::vector<std::size_t> widths(align_.size(), 0);
  for (const auto& cells : rows_)
    for (std::size_t c = 0; c < std::min(cells.size(), widths.size()); ++c)
      widths[c] = std::max(widths[c], text_width(cells[c]));
  constexpr std::size_t kMinWidth = 8;
  for (std::size_t total = std::accumulate(widths.begin(), widths.end(), std::size_t{0}); total > available; --total) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kMinWidth) break;
    --*widest;
  }
  return widths;
}

std::string Table::text(std::string_view indent, std::size_t max_width) const {
  const std::size_t gaps = indent.size() + 2 * (align_.size() - 1);
  const std::vector<std::size_t> widths = this->widths(max_width > gaps ? max_width - gaps : 0);
  std::string out;
  for (const auto& cells : rows_) {
    const std::size_t columns = std::min(cells.size(), widths.size());
    std::vector<std::vector<std::string>> folded;
    std::size_t lines = 1;
    for (std::size_t c = 0; c < columns; ++c) {
      const bool fits = text_width(cells[c]) <= widths[c];
      folded.push_back(fits ? std::vector{cells[c]} : wrap(cells[c], widths[c]));
      lines = std::max(lines, folded.back().size());
    }
    for (std::size_t l = 0; l < lines; ++l) {
      std::string line(indent);
      for (std::size_t c = 0; c < columns; ++c) {
        const std::string cell = l < folded[c].size() ? folded[c][l] : "";
        const std::string pad(widths[c] - std::min(widths[c], text_width(cell)), ' ');
        if (c > 0) line += "  ";
        line += align_[c] == 'r' ? pad + cell : cell + pad;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  }
  return out;
}

std::size_t terminal_width() {
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : SIZE_MAX;
}

std::size_t table_width() {
  const std::size_t width = terminal_width();
  return width == SIZE_MAX ? kPageWidth : width;
}

std::size_t page_width() { return std::clamp<std::size_t>(terminal_width(), 40, kPageWidth); }

std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows, std::size_t left) {
  if (left == 0) {
    for (const auto& [name, help] : rows) left = std::max(left, name.size());
    left = std::min<std::size_t>(left, 28);
  }
  const std::size_t width = page_width();
  std::string out;
  for (const auto& [name, help] : rows) {
    out += fmt::format("  {:<{}}", name, left);
    if (name.size() > left) out += fmt::format("\n  {:<{}}", "", left);
    bool first = true;
    for (const std::string& line : wrap(help, width > left + 4 ? width - left - 4 : 1)) {
      if (!first) out += fmt::format("  {:<{}}", "", left);
      out += fmt::format("  {}\n", line);
      first = false;
    }
  }
  return out;
}

}  // namespace penstock::cli

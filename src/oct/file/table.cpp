#include "oct/file/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace penstock::oct {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // which Excel puts in front of "CSV UTF-8"

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = std::min(line.find(','), line.size());
    std::string_view cell = line.substr(0, comma);
    while (!cell.empty() && (cell.front() == ' ' || cell.front() == '"')) cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '"' || cell.back() == '\r')) cell.remove_suffix(1);
    cells.push_back(cell);
    if (comma == line.size()) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// Where the wanted columns stand.
Result<std::vector<std::size_t>> find_columns(std::span<const std::string_view> names,
                                              std::span<const std::string_view> columns, std::size_t line) {
  std::vector<std::size_t> places;
  for (const std::string_view column : columns) {
    const auto at = std::ranges::find(names, column);
    if (at == names.end()) {
      Error error(ErrorCode::corrupt_data, fmt::format("line {}: no column {}", line, column));
      if (names.size() == 1 && names[0].find(';') != std::string_view::npos)
        error.set_hint("Columns are told apart by commas, not by semicolons.");
      return error;
    }
    if (std::ranges::count(names, column) > 1)
      return Error(ErrorCode::corrupt_data, fmt::format("line {}: column {} is there twice", line, column));
    places.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  return places;
}

}  // namespace

Result<std::vector<TableRow>> parse_table(std::string_view text, std::span<const std::string_view> columns) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<TableRow> rows;
  std::vector<std::size_t> places;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> cells = cells_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (cells.size() == 1 && cells[0].empty()) continue;
    if (places.empty()) {
      PENSTOCK_ASSIGN(places, find_columns(cells, columns, line));
      continue;
    }
    TableRow row{line, {}};
    for (const std::size_t place : places)
      row.cells.push_back(place < cells.size() ? cells[place] : std::string_view());
    rows.push_back(std::move(row));
  }
  if (places.empty()) return Error(ErrorCode::corrupt_data, "the file is empty");
  return rows;
}

Result<double> cell_number(std::string_view cell, std::string_view column) {
  double value = 0;
  const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code == std::errc() && end == cell.data() + cell.size() && std::isfinite(value)) return value;
  return Error(ErrorCode::corrupt_data, fmt::format("{}: '{}' is no number", column, cell));
}

Result<std::uint64_t> cell_slice(std::string_view cell, std::string_view column) {
  PENSTOCK_ASSIGN(const double value, cell_number(cell, column));
  if (value < 0 || value > 1e9 || value != std::floor(value))
    return Error(ErrorCode::corrupt_data, fmt::format("{}: {} is no slice", column, value));
  return static_cast<std::uint64_t>(value);
}

}  // namespace penstock::oct

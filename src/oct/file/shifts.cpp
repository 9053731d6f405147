#include "oct/file/shifts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace penstock::oct {
namespace {

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

/// One cell as a number.
Result<double> number_in(std::span<const std::string_view> cells, std::size_t column, std::string_view name) {
  double value = 0;
  if (column < cells.size()) {
    const std::string_view cell = cells[column];
    const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (code == std::errc() && end == cell.data() + cell.size() && std::isfinite(value)) return value;
  }
  return Error(ErrorCode::corrupt_data,
               fmt::format("{}: '{}' is no number", name, column < cells.size() ? cells[column] : ""));
}

/// Identifiers are written as 3 or 3.0.
Result<std::uint64_t> slice_in(std::span<const std::string_view> cells, std::size_t column, std::string_view name) {
  PENSTOCK_ASSIGN(const double value, number_in(cells, column, name));
  if (value < 0 || value > 1e9 || value != std::floor(value))
    return Error(ErrorCode::corrupt_data, fmt::format("{}: {} is no slice", name, value));
  return static_cast<std::uint64_t>(value);
}

constexpr std::string_view kColumns[] = {"fixed_id", "moving_id", "x_shift_mm", "y_shift_mm"};

Result<Shift> parse_row(std::span<const std::string_view> cells, std::span<const std::size_t> columns) {
  Shift shift;
  PENSTOCK_ASSIGN(shift.fixed, slice_in(cells, columns[0], kColumns[0]));
  PENSTOCK_ASSIGN(shift.moving, slice_in(cells, columns[1], kColumns[1]));
  PENSTOCK_ASSIGN(shift.x_mm, number_in(cells, columns[2], kColumns[2]));
  PENSTOCK_ASSIGN(shift.y_mm, number_in(cells, columns[3], kColumns[3]));
  return shift;
}

}  // namespace

Result<std::vector<Shift>> parse_shifts(std::string_view text) {
  std::vector<Shift> shifts;
  std::vector<std::size_t> columns;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> cells = cells_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (cells.size() == 1 && cells[0].empty()) continue;
    if (columns.empty()) {
      for (const std::string_view name : kColumns) {
        const auto at = std::ranges::find(cells, name);
        if (at == cells.end()) return Error(ErrorCode::corrupt_data, fmt::format("line {}: no column {}", line, name));
        columns.push_back(static_cast<std::size_t>(at - cells.begin()));
      }
      continue;
    }
    PENSTOCK_ASSIGN_IN(const Shift shift, parse_row(cells, columns), fmt::format("line {}", line));
    shifts.push_back(shift);
  }
  if (columns.empty()) return Error(ErrorCode::corrupt_data, "the file is empty");
  return shifts;
}

std::string shifts_text(std::span<const Shift> shifts, double pixel_mm) {
  std::string text = "fixed_id,moving_id,x_shift,y_shift,x_shift_mm,y_shift_mm,reliable\n";
  for (const Shift& s : shifts)
    text += fmt::format("{}.0,{}.0,{},{},{},{},1.0\n", s.fixed, s.moving, s.x_mm / pixel_mm, s.y_mm / pixel_mm, s.x_mm,
                        s.y_mm);
  return text;
}

Result<std::vector<SlicePosition>> chain_shifts(std::span<const Shift> shifts, std::span<const std::uint64_t> slices,
                                                bool may_miss) {
  std::map<std::uint64_t, const Shift*> to;  // by the slice that moves
  for (const Shift& s : shifts) {
    for (const std::uint64_t id : {s.fixed, s.moving})
      if (!may_miss && !std::ranges::binary_search(slices, id))
        return Error(ErrorCode::invalid_argument, fmt::format("a shift names slice {}, which is not there", id))
            .set_hint("add the slice, take its shifts out, or allow missing slices.");
    if (s.moving <= s.fixed)
      return Error(
          ErrorCode::invalid_argument,
          fmt::format("a shift from slice {} to slice {}: the second must be the later one", s.fixed, s.moving));
    if (!to.emplace(s.moving, &s).second)
      return Error(ErrorCode::invalid_argument, fmt::format("two shifts lead to slice {}", s.moving));
  }
  std::map<std::uint64_t, SlicePosition> known;
  if (!slices.empty()) known[slices.front()] = {slices.front(), 0, 0};
  for (const auto& [moving, s] : to) {  // ascending: what a shift begins at is known before
    const auto from = known.find(s->fixed);
    if (from == known.end() || moving == slices.front()) continue;
    known[moving] = {moving, from->second.x_mm + s->x_mm, from->second.y_mm + s->y_mm};
  }
  std::vector<SlicePosition> positions;
  for (const std::uint64_t slice : slices) {
    const auto at = known.find(slice);
    if (at == known.end())
      return Error(ErrorCode::invalid_argument,
                   fmt::format("no shifts lead from slice {} to slice {}", slices.front(), slice));
    positions.push_back(at->second);
  }
  return positions;
}

}  // namespace penstock::oct

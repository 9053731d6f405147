#include "oct/file/shifts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "oct/file/table.hpp"

namespace penstock::oct {
namespace {

constexpr std::string_view kColumns[] = {"fixed_id", "moving_id", "x_shift_mm", "y_shift_mm"};

Result<Shift> parse_row(const TableRow& row) {
  Shift shift;
  PENSTOCK_ASSIGN(shift.fixed, cell_slice(row.cells[0], kColumns[0]));
  PENSTOCK_ASSIGN(shift.moving, cell_slice(row.cells[1], kColumns[1]));
  PENSTOCK_ASSIGN(shift.x_mm, cell_number(row.cells[2], kColumns[2]));
  PENSTOCK_ASSIGN(shift.y_mm, cell_number(row.cells[3], kColumns[3]));
  return shift;
}

}  // namespace

Result<std::vector<Shift>> parse_shifts(std::string_view text) {
  PENSTOCK_ASSIGN(const std::vector<TableRow> rows, parse_table(text, kColumns));
  std::vector<Shift> shifts;
  for (const TableRow& row : rows) {
    PENSTOCK_ASSIGN_IN(const Shift shift, parse_row(row), fmt::format("line {}", row.line));
    shifts.push_back(shift);
  }
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
                                                const std::function<bool(std::uint64_t)>& may_miss) {
  std::map<std::uint64_t, const Shift*> to;  // by the slice that moves
  for (const Shift& s : shifts) {
    for (const std::uint64_t id : {s.fixed, s.moving})
      if (!std::ranges::binary_search(slices, id) && !may_miss(id))
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

Status check_neighbours(std::span<const SlicePosition> positions, std::span<const SliceExtent> extents) {
  const auto apart = [](double a, double a_extent, double b, double b_extent) {
    return b >= a + a_extent || a >= b + b_extent;
  };
  for (std::size_t k = 1; k < positions.size(); ++k) {
    const SlicePosition &a = positions[k - 1], &b = positions[k];
    if (!apart(a.x_mm, extents[k - 1].x_mm, b.x_mm, extents[k].x_mm) &&
        !apart(a.y_mm, extents[k - 1].y_mm, b.y_mm, extents[k].y_mm))
      continue;
    return Error(ErrorCode::invalid_argument,
                 fmt::format(
                     "slice {} would lie {:.6g} mm along x and {:.6g} mm along y from slice {}, which is {:.6g} x "
                     "{:.6g} mm large: they would share no pixel",
                     b.slice, b.x_mm - a.x_mm, b.y_mm - a.y_mm, a.slice, extents[k - 1].x_mm, extents[k - 1].y_mm))
        .set_hint("x_shift_mm and y_shift_mm are in millimetres.");
  }
  return {};
}

}  // namespace penstock::oct

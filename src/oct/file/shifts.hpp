// shifts_xy.csv: how far each slice lies from the one before it.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::oct {

/// One row: the slice `moving` lies this far from `fixed`.  x is along columns, y along rows, towards higher indices.
struct Shift {
  std::uint64_t fixed = 0, moving = 0;
  double x_mm = 0, y_mm = 0;
};

/// Columns fixed_id, moving_id, x_shift_mm, y_shift_mm by their names in the first line; others are passed over.
/// Errors: corrupt_data (line and column).
Result<std::vector<Shift>> parse_shifts(std::string_view text);
/// With x_shift and y_shift in pixels too.
std::string shifts_text(std::span<const Shift> shifts, double pixel_mm);

/// Where a slice lies, from the slice that the chain begins with.
struct SlicePosition {
  std::uint64_t slice = 0;
  double x_mm = 0, y_mm = 0;
};
/// Cumulative sums, for each of `slices` (ascending); the first lies at 0.  Errors: invalid_argument (a slice that no
/// chain of shifts leads to, two shifts of one slice, a shift that names a slice that is not among them, unless
/// it `may_miss`).
Result<std::vector<SlicePosition>> chain_shifts(std::span<const Shift> shifts, std::span<const std::uint64_t> slices,
                                                const std::function<bool(std::uint64_t)>& may_miss);

/// How large a slice is.
struct SliceExtent {
  double x_mm = 0, y_mm = 0;
};
/// Slices of one block lie over each other.  Errors: invalid_argument (one that would share no pixel with the one
/// before it: what is called millimetres is something else).
Status check_neighbours(std::span<const SlicePosition> positions, std::span<const SliceExtent> extents);

}  // namespace penstock::oct

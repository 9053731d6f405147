// Small tables as programs for spreadsheets write them: commas, names of columns in the first line.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::oct {

/// Cells of the wanted columns, in their order, without blanks and quotes around them; empty where the line is shorter.
struct TableRow {
  std::size_t line = 0;  ///< of the file, from 1
  std::vector<std::string_view> cells;
};
/// Rows that are not blank, of columns by their names; others are passed over.  The cells are parts of `text`.
/// Errors: corrupt_data (empty, or without a column).
Result<std::vector<TableRow>> parse_table(std::string_view text, std::span<const std::string_view> columns);

/// A number of a cell.  Errors: corrupt_data naming the column.
Result<double> cell_number(std::string_view cell, std::string_view column);
/// The number of a slice, which is written as 3 or 3.0.  Errors: corrupt_data naming the column.
Result<std::uint64_t> cell_slice(std::string_view cell, std::string_view column);

}  // namespace penstock::oct

#include "oct/file/slice_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "oct/file/table.hpp"

namespace penstock::oct {
namespace {

constexpr std::string_view kColumns[] = {"slice_id", "use"};

Result<bool> cell_flag(std::string_view cell, std::string_view column) {
  std::string word(cell);
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; });
  if (word == "true" || word == "1" || word == "yes") return true;
  if (word == "false" || word == "0" || word == "no") return false;
  return Error(ErrorCode::corrupt_data, fmt::format("{}: '{}' is neither true nor false", column, cell));
}

}  // namespace

Result<std::set<std::uint64_t>> parse_unused_slices(std::string_view text) {
  PENSTOCK_ASSIGN(const std::vector<TableRow> rows, parse_table(text, kColumns));
  std::set<std::uint64_t> told, unused;
  for (const TableRow& row : rows) {
    const std::string place = fmt::format("line {}", row.line);
    PENSTOCK_ASSIGN_IN(const std::uint64_t slice, cell_slice(row.cells[0], kColumns[0]), place);
    PENSTOCK_ASSIGN_IN(const bool use, cell_flag(row.cells[1], kColumns[1]), place);
    if (!told.insert(slice).second)
      return Error(ErrorCode::corrupt_data, fmt::format("{}: slice {} is there twice", place, slice));
    if (!use) unused.insert(slice);
  }
  return unused;
}

}  // namespace penstock::oct

#include "oct/score/truth.hpp"

#include <fmt/format.h>

namespace penstock::oct {
namespace {

Result<bool> to_flag(const Json& object, std::string_view name) {
  PENSTOCK_ASSIGN(const Json* value, member(object, name));
  if (!value->is_boolean())
    return Error(ErrorCode::invalid_metadata, fmt::format("{} is neither true nor false", name));
  return value->get<bool>();
}

Result<TruthSlice> parse_slice(const Json& one, std::uint64_t tiles) {
  TruthSlice slice;
  PENSTOCK_ASSIGN(const std::int64_t id, int_member(one, "id", 0, 1000000));
  slice.id = static_cast<std::uint64_t>(id);
  PENSTOCK_ASSIGN(slice.galvo_shift, int_member(one, "galvo_shift", 0, 1 << 20));
  PENSTOCK_ASSIGN(const std::int64_t planes, int_member(one, "planes", 1, 1 << 20));
  slice.planes = static_cast<std::uint64_t>(planes);
  PENSTOCK_ASSIGN(const Json* surface, member(one, "surface"));
  PENSTOCK_ASSIGN(slice.surface, to_number(*surface, "surface"));
  PENSTOCK_ASSIGN(slice.agarose, to_flag(one, "agarose"));
  PENSTOCK_ASSIGN(const Json* list, member(one, "tile_positions"));
  if (!list->is_array() || list->size() != tiles)
    return Error(ErrorCode::invalid_metadata, fmt::format("tile_positions is no list of {}", tiles));
  for (const Json& pair : *list) {
    if (!pair.is_array() || pair.size() != 2)
      return Error(ErrorCode::invalid_metadata, "tile_positions holds something that is no pair");
    PENSTOCK_ASSIGN(const double row, to_number(pair[0], "tile_positions"));
    PENSTOCK_ASSIGN(const double col, to_number(pair[1], "tile_positions"));
    slice.positions.push_back({row, col});
  }
  return slice;
}

}  // namespace

Result<double> to_number(const Json& value, std::string_view what) {
  if (!value.is_number()) return Error(ErrorCode::invalid_metadata, fmt::format("{} is no number", what));
  return value.get<double>();
}

Result<Truth> parse_truth(std::string_view text) {
  PENSTOCK_ASSIGN(const Json all, parse_json(text));
  Truth truth;
  PENSTOCK_ASSIGN(const std::int64_t interval, int_member(all, "interval_planes", 1, 1 << 20));
  truth.interval = static_cast<std::uint64_t>(interval);
  PENSTOCK_ASSIGN(const Json* grid, member(all, "grid"));
  if (!grid->is_array() || grid->size() != 2) return Error(ErrorCode::invalid_metadata, "grid is no pair");
  PENSTOCK_ASSIGN(truth.rows, to_u64((*grid)[0], "grid"));
  PENSTOCK_ASSIGN(truth.cols, to_u64((*grid)[1], "grid"));
  if (truth.rows == 0 || truth.rows > 10000 || truth.cols == 0 || truth.cols > 10000)
    return Error(ErrorCode::invalid_metadata, "grid is out of bounds");
  PENSTOCK_ASSIGN(const Json* slices, member(all, "slices"));
  if (!slices->is_array()) return Error(ErrorCode::invalid_metadata, "slices is no list");
  for (const Json& one : *slices) {
    PENSTOCK_ASSIGN_IN(const bool missing, to_flag(one, "missing"), "slices");
    if (missing) continue;
    PENSTOCK_ASSIGN_IN(TruthSlice slice, parse_slice(one, truth.rows * truth.cols), "slices");
    truth.slices.push_back(std::move(slice));
  }
  return truth;
}

}  // namespace penstock::oct

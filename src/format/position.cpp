#include "format/position.hpp"

#include <algorithm>

#include "core/json.hpp"

namespace penstock {
namespace {

constexpr const char* kAffine = "world_from_voxel";
constexpr const char* kGeoTransform = "spatial:transform";

bool is_numbers(const Json& json, std::size_t count) {
  return json.is_array() && json.size() == count &&
         std::ranges::all_of(json, [](const Json& v) { return v.is_number(); });
}

/// Three rows of four numbers, or four.
bool is_affine(const Json& json) {
  return json.is_array() && (json.size() == 3 || json.size() == 4) &&
         std::ranges::all_of(json, [](const Json& row) { return is_numbers(row, 4); });
}

/// The origin moves to the first element, and a step is `step` of those before.
template <class Row>
void move_row(Row& row, const Region& part) {
  double origin = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double each = row[d];
    origin += each * static_cast<double>(part[d].start);
    row[d] = each * static_cast<double>(part[d].step);
  }
  row[3] = static_cast<double>(row[3]) + origin;
}

/// GDAL's transformation, which speaks of corners: (x, y) = (c + a column + b row, f + d column + e row), as a, b, c,
/// d, e, f.  What stays is the middle of the first pixel.
void move_geo_transform(Json& t, const Range& rows, const Range& columns) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{3}}) {
    const double a = t[i], b = t[i + 1], c = t[i + 2];
    const double steps[] = {static_cast<double>(columns.step), static_cast<double>(rows.step)};
    const double firsts[] = {static_cast<double>(columns.start), static_cast<double>(rows.start)};
    t[i] = a * steps[0];
    t[i + 1] = b * steps[1];
    t[i + 2] = c + a * (firsts[0] + (1 - steps[0]) / 2) + b * (firsts[1] + (1 - steps[1]) / 2);
  }
}

Status move_attributes(Dataset& dataset, const Region& part) {
  PENSTOCK_ASSIGN(Json attributes, parse_json(dataset.attributes));
  if (!attributes.is_object()) return {};
  const auto affine = attributes.find(kAffine), geo = attributes.find(kGeoTransform);
  const bool has_affine = affine != attributes.end() && is_affine(*affine) && part.size() >= 3;
  const bool has_geo = geo != attributes.end() && is_numbers(*geo, 6) && part.size() >= 2;
  if (has_affine)
    for (std::size_t row = 0; row < 3; ++row) {
      std::array<double, 4> numbers = (*affine)[row];
      move_row(numbers, part);
      (*affine)[row] = numbers;
    }
  if (has_geo) move_geo_transform(*geo, part[part.size() - 2], part.back());
  if (has_affine || has_geo) dataset.attributes = dump_json(attributes);
  return {};
}

}  // namespace

Status move_position(Dataset& dataset, const Region& part) {
  if (std::ranges::all_of(part, [](const Range& r) { return r.start == 0 && r.step == 1; })) return {};
  for (std::size_t d = 0; d < dataset.dims.size(); ++d) {
    Dimension& dim = dataset.dims[d];
    if (!dim.scale) continue;
    if (dim.offset) *dim.offset += *dim.scale * static_cast<double>(part[d].start);
    *dim.scale *= static_cast<double>(part[d].step);
  }
  if (dataset.world_from_voxel && part.size() >= 3)
    for (std::size_t row = 0; row < 3; ++row) {
      double* const numbers = &dataset.world_from_voxel->rows[4 * row];
      move_row(numbers, part);
    }
  return move_attributes(dataset, part);
}

Status forget_position(Dataset& dataset) {
  dataset.world_from_voxel.reset();
  for (Dimension& d : dataset.dims) d.scale.reset(), d.offset.reset();
  PENSTOCK_ASSIGN(Json attributes, parse_json(dataset.attributes));
  if (!attributes.is_object()) return {};
  std::size_t erased = 0;
  for (const char* const key : {kAffine, kGeoTransform, "pixdim"}) erased += attributes.erase(key);
  if (const auto raster = attributes.find("raster"); raster != attributes.end() && raster->is_object())
    for (const char* const key : {"gcps", "rpc"}) erased += raster->erase(key);
  if (erased > 0) dataset.attributes = dump_json(attributes);
  return {};
}

Status tell_position(Dataset& dataset) {
  if (!dataset.world_from_voxel) return {};
  PENSTOCK_ASSIGN(Json attributes, parse_json(dataset.attributes));
  Json rows = Json::array();
  for (std::size_t row = 0; row < 3; ++row) {
    const double* const numbers = &dataset.world_from_voxel->rows[4 * row];
    rows.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
  }
  attributes[kAffine] = std::move(rows);
  dataset.attributes = dump_json(attributes);
  dataset.world_from_voxel.reset();
  return {};
}

}  // namespace penstock

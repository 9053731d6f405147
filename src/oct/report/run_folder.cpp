#include "oct/report/run_folder.hpp"

#include <fmt/format.h>

#include "oct/file/metrics.hpp"
#include "oct/file/names.hpp"
#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "penstock/store.hpp"

namespace penstock::oct {

Result<RunFolder> RunFolder::open(std::string path) {
  RunFolder run(std::move(path));
  PENSTOCK_ASSIGN(run.stitched_, run.slices("stitch"));
  PENSTOCK_ASSIGN(run.placed_, run.slices("common"));
  PENSTOCK_ASSIGN(run.volume_, small_exists(run.volume_path() + "/zarr.json"));
  if (!run.volume_ && run.stitched_.empty())
    return Error(ErrorCode::not_found,
                 fmt::format("{}: no slice and no volume of a reconstruction is there", run.path_));
  const std::string told = run.path_ + "/reconstruct.json";
  PENSTOCK_ASSIGN(const bool there, small_exists(told));
  if (!there) return run;
  PENSTOCK_ASSIGN(const Bytes bytes, read_small(told));
  PENSTOCK_ASSIGN_IN(run.settings_, parse_json(as_text(bytes)), told);
  return run;
}

std::string RunFolder::volume_path() const { return fmt::format("{}/3d_volume{}", path_, kVolumeEnding); }

std::string RunFolder::slice_file(std::string_view prefix, std::uint64_t slice, std::string_view rest) const {
  return fmt::format("{}/{}_{}", path_, slice_name(prefix, slice), rest);
}

Result<Slices> RunFolder::slices(std::string_view process) const {
  Result<Slices> found = slices_in(path_, "slice", process);
  if (!found && found.error().code() == ErrorCode::not_found) return Slices{};
  if (!found) return found.error();
  Slices complete;
  for (const auto& [id, path] : *found) {
    PENSTOCK_ASSIGN(const bool there, small_exists(path + "/zarr.json"));
    if (there) complete.emplace(id, path);
  }
  return complete;
}

Result<std::optional<Json>> RunFolder::measured(const std::string& json, std::string_view name) const {
  PENSTOCK_ASSIGN(const bool there, small_exists(json));
  if (!there) return std::optional<Json>();
  PENSTOCK_ASSIGN(const Bytes bytes, read_small(json));
  PENSTOCK_ASSIGN_IN(Json value, metric(as_text(bytes), name), json);
  return std::optional(std::move(value));
}

Result<std::optional<double>> RunFolder::crop_number(std::uint64_t slice, std::string_view name) const {
  PENSTOCK_ASSIGN(const auto value,
                  measured(slice_file("slice", slice, "crop_crop_below_interface_metrics.json"), name));
  return value && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

Result<std::map<std::uint64_t, double>> RunFolder::common_numbers(std::string_view name) const {
  std::map<std::uint64_t, double> numbers;
  PENSTOCK_ASSIGN(const auto list, measured(path_ + "/common_space_metrics.json", name));
  if (!list || !list->is_object()) return numbers;
  for (const auto& [id, value] : list->items())
    if (value.is_number() && !id.empty() && id.find_first_not_of("0123456789") == std::string::npos && id.size() < 10)
      numbers[std::stoull(id)] = value.get<double>();
  return numbers;
}

Result<std::optional<SliceTiles>> RunFolder::tiles_of(std::uint64_t slice) const {
  const std::string matrix = slice_file("mosaic_grid", slice, "transform.npy");
  const std::string projection = slice_file("mosaic_grid", slice, "aip.ome.zarr");
  PENSTOCK_ASSIGN(const bool placed, small_exists(matrix));
  PENSTOCK_ASSIGN(const bool gridded, small_exists(projection + "/zarr.json"));
  if (!placed || !gridded) return std::optional<SliceTiles>();
  PENSTOCK_ASSIGN(const TileTransform transform, read_transform(matrix));
  PENSTOCK_ASSIGN(const Volume mosaic, open_volume(projection, 2));
  PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(mosaic, projection));
  PENSTOCK_ASSIGN_IN(TileLayout layout, layout_of(transform, grid.rows, grid.cols, grid.tile_rows, grid.tile_cols),
                     matrix);
  return std::optional(SliceTiles{std::move(layout), grid.tile_rows, grid.tile_cols});
}

Result<std::vector<StepWarning>> RunFolder::warnings() const {
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(path_, StoreMode::read));
  PENSTOCK_ASSIGN_IN(const std::vector<StoreEntry> entries, store->list_dir(""), path_);
  std::vector<StepWarning> found;
  for (const StoreEntry& entry : entries) {
    if (entry.is_prefix || !entry.name.ends_with("_metrics.json")) continue;
    // reconstruct repeats those of its steps.
    if (entry.name == "reconstruct_metrics.json" || entry.name == "score_metrics.json") continue;
    PENSTOCK_ASSIGN(const Bytes bytes, read_small(path_ + "/" + entry.name));
    PENSTOCK_ASSIGN_IN(const Json all, parse_json(as_text(bytes)), path_ + "/" + entry.name);
    const auto list = all.find("warnings");
    if (list == all.end() || !list->is_array()) continue;
    for (const Json& one : *list)
      if (one.is_string()) found.push_back({entry.name, one.get<std::string>()});
  }
  return found;
}

}  // namespace penstock::oct

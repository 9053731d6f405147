#include "oct/focal/fix.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/checked.hpp"
#include "oct/file/names.hpp"
#include "oct/file/npy.hpp"
#include "oct/interface/map.hpp"
#include "oct/kernels/run.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

/// What is left of a tile's map without the plane that fits it: the tilt is the slice's, the rest the focus'.
void take_plane_off(std::vector<double>& map, const TileGrid& grid) {
  Eigen::Matrix3d normal = Eigen::Matrix3d::Zero();
  Eigen::Vector3d right = Eigen::Vector3d::Zero();
  const auto place = [&](std::size_t i) {
    return Eigen::Vector3d(1, 2 * static_cast<double>(i / grid.tile_cols) / static_cast<double>(grid.tile_rows) - 1,
                           2 * static_cast<double>(i % grid.tile_cols) / static_cast<double>(grid.tile_cols) - 1);
  };
  for (std::size_t i = 0; i < map.size(); ++i) {
    normal += place(i) * place(i).transpose();
    right += place(i) * map[i];
  }
  normal.diagonal().array() += 1e-9 * static_cast<double>(map.size());  // tiles of one row
  const Eigen::Vector3d plane = normal.ldlt().solve(right);
  for (std::size_t i = 0; i < map.size(); ++i) map[i] -= plane.dot(place(i));
}

/// The middle of all tiles' maps, smoothed, mean 0.
Result<std::vector<double>> common_map(const std::vector<std::vector<float>>& maps, const TileGrid& grid, double sigma,
                                       const Options& options) {
  std::vector<double> common(grid.tile_rows * grid.tile_cols);
  std::vector<double> here(maps.size());
  const std::size_t half = maps.size() / 2;
  for (std::size_t i = 0; i < common.size(); ++i) {
    for (std::size_t k = 0; k < maps.size(); ++k) here[k] = maps[k][i];
    std::ranges::sort(here);
    common[i] = maps.size() % 2 == 1 ? here[half] : (here[half - 1] + here[half]) / 2;
  }
  const OpCall smooth{"gaussian_filter",
                      fmt::format(R"({{"sigma":[{},{}],"mode":"mirror"}})", sigma * static_cast<double>(grid.tile_rows),
                                  sigma * static_cast<double>(grid.tile_cols))};
  PENSTOCK_ASSIGN(const TensorView view,
                  TensorView::packed(common.data(), DType::float64(), {grid.tile_rows, grid.tile_cols}));
  PENSTOCK_ASSIGN(const Tensor made, apply_operators(std::span(&smooth, 1), view, options));
  std::memcpy(common.data(), made.view().data, common.size() * sizeof(double));
  double mean = 0;
  for (const double v : common) mean += v / static_cast<double>(common.size());
  for (double& v : common) v -= mean;
  return common;
}

/// The interface of each tile that holds something, without its plane.
class TileMaps {
 public:
  TileMaps(const InterfaceMapOptions& how, const TileGrid& grid) : how_(how), grid_(grid) {}

  /// Tiles of a box of whole ones.
  Status add(const Tile& in, const Workspace& work) {
    const std::uint64_t rows = grid_.tile_rows, cols = grid_.tile_cols, columns = rows * cols;
    PENSTOCK_ASSIGN(const auto map, hold<double>(columns, work));
    PENSTOCK_ASSIGN(const auto holds, hold<std::uint8_t>(columns, work));
    std::vector<std::uint8_t> held(columns);
    for (std::uint64_t r = 0; r < in.box[1].count / rows; ++r)
      for (std::uint64_t c = 0; c < in.box[2].count / cols; ++c) {
        PENSTOCK_ASSIGN(const TensorView tile,
                        part_of_box(in.view, whole(in.view.shape),
                                    {{0, in.box[0].count, 1}, {r * rows, rows, 1}, {c * cols, cols, 1}}));
        PENSTOCK_TRY(run_kernel(ColumnHolds{const_box(tile), holds.data()}, columns, work));
        PENSTOCK_TRY(download(holds.data(), columns, held.data(), work));
        if (std::ranges::none_of(held, [](std::uint8_t v) { return v != 0; })) continue;
        PENSTOCK_TRY(map_interface(tile, {}, how_, map.data(), work));
        std::vector<double> found(columns);
        PENSTOCK_TRY(download(map.data(), columns, found.data(), work));
        take_plane_off(found, grid_);
        maps_.emplace_back(found.begin(), found.end());
      }
    return {};
  }
  [[nodiscard]] const std::vector<std::vector<float>>& maps() const { return maps_; }

 private:
  const InterfaceMapOptions& how_;
  const TileGrid& grid_;
  std::vector<std::vector<float>> maps_;
};

/// Of all tiles, one after another where the step works.
Result<std::vector<std::vector<float>>> tile_maps(const StepCall& call, const Volume& mosaic, const TileGrid& grid) {
  InterfaceMapOptions how;
  how.width = static_cast<std::uint64_t>(std::clamp(call.number("sigma_xy"), 0.0, 1e6));
  how.sigma_z = call.number("sigma_z");
  how.logarithm = call.flag("use_log");
  PENSTOCK_TRY(check(how));
  const std::uint64_t columns = grid.tile_rows * grid.tile_cols;
  PENSTOCK_ASSIGN(const Options rest,
                  without_held(call.options, saturating_mul(4 * columns, grid.count()), "oct fix-focal-curvature"));
  const Shape tile = {mosaic.shape[0], grid.tile_rows, grid.tile_cols};
  PENSTOCK_ASSIGN(const std::uint64_t bytes, map_interface_bytes(how, tile, false));
  Pass pass{"oct fix-focal-curvature", {tile[0], grid.rows * tile[1], grid.cols * tile[2]}, tile};
  pass.scratch_bytes = [&](const Region&) { return bytes + 9 * columns; };
  TileMaps found(how, grid);
  pass.make = [&](const Tile& in, const Tile&, const Workspace& work) { return found.add(in, work); };
  PENSTOCK_ASSIGN(const Source source, source_of(mosaic, call.path(0), call.device, rest));
  PENSTOCK_TRY(look_at(source, pass, call.device, rest));
  if (found.maps().empty()) return Error(ErrorCode::invalid_argument, call.path(0) + ": every tile is empty");
  return found.maps();
}

/// Moves the columns of all tiles by the map.
Status move_all(const StepCall& call, const Volume& mosaic, const TileGrid& grid, const std::vector<double>& map,
                NewVolume& out) {
  PENSTOCK_ASSIGN(const Place place, Place::make("oct fix-focal-curvature", call.device, call.options));
  PENSTOCK_ASSIGN(const auto there, uploaded(map.data(), map.size(), place.work()));
  PENSTOCK_TRY(place.work().stream.synchronize());
  Pass pass{"oct fix-focal-curvature", mosaic.shape, out.objects()};
  pass.make = [&](const Tile& in, const Tile& made, const Workspace& work) {
    const MoveColumns move{const_box(in.view), static_cast<float*>(made.view.data),
                           there.data(),       grid.tile_rows,
                           grid.tile_cols,     call.flag("compat")};
    return run_kernel(move, move.in.elements(), work);
  };
  PENSTOCK_ASSIGN(const Options rest, without_held(call.options, 8 * map.size(), "oct fix-focal-curvature"));
  PENSTOCK_ASSIGN(const Source source, source_of(mosaic, call.path(0), call.device, rest));
  return make_volume(source, pass, out, call.path(1), call.device, rest);
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume mosaic, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(mosaic, call.path(0)));
  VolumeSpec spec = spec_like(mosaic);
  spec.levels = call.count("n_levels");
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  PENSTOCK_ASSIGN(const auto maps, tile_maps(call, mosaic, grid));
  PENSTOCK_ASSIGN_IN(const std::vector<double> map, common_map(maps, grid, call.number("smoothness"), call.options),
                     call.path(0));
  PENSTOCK_TRY(move_all(call, mosaic, grid, map, out));
  const std::string path = stem_of(call.path(1)) + "_focal.npy";
  PENSTOCK_TRY(write_npy(path, Shape{grid.tile_rows, grid.tile_cols}, map));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  const auto [least, most] = std::ranges::minmax(map);
  done.metrics.ran("interfaces of tiles", call.device.name());
  done.metrics.ran("columns moved", call.device.name());
  done.metrics.ran("common map", Device().name());
  done.metrics.add("tiles", maps.size(), "tiles", "tiles that the map was made of");
  done.metrics.add("map_min", least, "planes", "least of the map, whose mean is 0");
  done.metrics.add("map_max", most, "planes", "largest of the map");
  done.text = fmt::format("{}: focus from {:.2f} to {:.2f} planes of {} tiles, in {}\n", call.path(1), least, most,
                          maps.size(), path);
  return done;
}

}  // namespace

Step fix_focal_curvature_step() {
  Step step;
  step.what.name = "fix-focal-curvature";
  step.what.summary = "make the curved focus that tiles share flat";
  step.what.about =
      "The interface of each tile, without the plane that fits it, is what the curve of the focus makes of a flat cut; "
      "the "
      "middle of all tiles, smoothed, is one map for every tile. Columns are moved by it, between planes linearly; the "
      "first and "
      "the last plane are held at the ends. The map is written beside FIXED as NAME_focal.npy (rows, columns; planes, "
      "mean 0).";
  step.what.arguments = {{"MOSAIC", "mosaic grid", false}, {"FIXED", "the mosaic grid to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("sigma_xy", "3", "width of the box that columns are averaged over, in pixels, fractions cut off"),
      number_option("sigma_z", "2", "standard deviation of the Gaussian along depth, in planes"),
      flag_option("use_log", "of the logarithm of the intensity"),
      number_option("smoothness", "0.06",
                    "standard deviation of the Gaussian that smooths the map, as part of a tile's side"),
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
      flag_option("compat", "move by whole planes, cut off towards 0 and around the end, as linumpy does"),
  };
  step.what.example = "mosaic_grid_z00.ome.zarr mosaic_grid_z00_focal.ome.zarr";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

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
Result<std::vector<double>> common_map(const std::vector<std::vector<double>>& maps, const TileGrid& grid, double sigma,
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

/// Moves each column of a block of whole tiles up by its value of the map: between planes linearly, the first and the
/// last plane held; or by whole planes, around the end.
void move_columns(const std::vector<double>& map, const TileGrid& grid, bool whole_planes, Block& block) {
  const std::uint64_t depth = block.region[0].count, rows = block.region[1].count, cols = block.region[2].count;
  std::vector<float> column(depth);
  const auto last = static_cast<double>(depth - 1);
  for (std::uint64_t r = 0; r < rows; ++r)
    for (std::uint64_t c = 0; c < cols; ++c) {
      float* const at = block.values.data() + r * cols + c;
      const double by = map[r % grid.tile_rows * grid.tile_cols + c % grid.tile_cols];
      for (std::uint64_t z = 0; z < depth; ++z) column[z] = at[z * rows * cols];
      for (std::uint64_t z = 0; z < depth; ++z) {
        if (whole_planes) {
          const auto n = static_cast<std::int64_t>(depth);
          const std::int64_t from =
              (static_cast<std::int64_t>(z) + static_cast<std::int64_t>(std::trunc(by)) % n + n) % n;
          at[z * rows * cols] = column[static_cast<std::size_t>(from)];
          continue;
        }
        const double from = std::clamp(static_cast<double>(z) + by, 0.0, last);
        const auto low = static_cast<std::size_t>(from);
        const std::size_t high = std::min(low + 1, static_cast<std::size_t>(depth - 1));
        const auto w = static_cast<float>(from - static_cast<double>(low));
        at[z * rows * cols] = column[low] + w * (column[high] - column[low]);
      }
    }
}

/// The interface of each tile that holds something, without its plane.
Result<std::vector<std::vector<double>>> tile_maps(const StepCall& call, const Volume& mosaic, const TileGrid& grid) {
  const InterfaceMapOptions how{call.count("width"), call.number("sigma_z"), false, false};
  std::vector<std::vector<double>> maps;
  for (std::uint64_t k = 0; k < grid.count(); ++k) {
    PENSTOCK_TRY(call.options.stop().check("oct fix-focal-curvature"));
    const Region region = {{0, mosaic.shape[0], 1},
                           {k / grid.cols * grid.tile_rows, grid.tile_rows, 1},
                           {k % grid.cols * grid.tile_cols, grid.tile_cols, 1}};
    PENSTOCK_ASSIGN(Block tile, read_block(mosaic.array, region, call.options));
    if (std::ranges::all_of(tile.values, [](float v) { return v == 0; })) continue;
    PENSTOCK_ASSIGN(std::vector<double> map, interface_map(std::move(tile), how, call.device, call.options));
    take_plane_off(map, grid);
    maps.push_back(std::move(map));
  }
  if (maps.empty()) return Error(ErrorCode::invalid_argument, "every tile is empty");
  return maps;
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume mosaic, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(mosaic, call.path(0)));
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec_like(mosaic), call.force));
  PENSTOCK_ASSIGN_IN(const auto maps, tile_maps(call, mosaic, grid), call.path(0));
  PENSTOCK_ASSIGN_IN(const std::vector<double> map, common_map(maps, grid, call.number("smoothness"), call.options),
                     call.path(0));
  std::uint64_t bytes = saturating_mul(3 * 4 * mosaic.shape[0], saturating_mul(out.objects()[1], out.objects()[2]));
  const auto fix_block = [&](const Region& region, const Options& inner) -> Status {
    PENSTOCK_ASSIGN_IN(Block block, read_block(mosaic.array, region, inner), call.path(0));
    move_columns(map, grid, call.flag("compat"), block);
    PENSTOCK_TRY_IN(write_block(out.array(), region, block.values, inner), call.path(1));
    return {};
  };
  PENSTOCK_TRY(for_each_object(mosaic.shape, out.objects(), bytes, "oct fix-focal-curvature", call.options, fix_block));
  const std::string path = stem_of(call.path(1)) + "_focal.npy";
  PENSTOCK_TRY(write_npy(path, Shape{grid.tile_rows, grid.tile_cols}, map));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  const auto [least, most] = std::ranges::minmax(map);
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
      count_option("width", "3", "of the box that columns are averaged over, in pixels"),
      number_option("sigma_z", "2", "standard deviation of the Gaussian along depth, in planes"),
      number_option("smoothness", "0.06",
                    "standard deviation of the Gaussian that smooths the map, as part of a tile's side"),
      flag_option("compat", "move by whole planes, cut off towards 0 and around the end, as linumpy does"),
  };
  step.what.example = "mosaic_grid_z00.ome.zarr mosaic_grid_z00_focal.ome.zarr";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

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
#include "oct/tiles/columns.hpp"
#include "oct/tiles/kernel.hpp"
#include "oct/work.hpp"
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
  PENSTOCK_ASSIGN(const Tensor made, apply_operators(std::span(&smooth, 1), view, on_host(options)));
  std::memcpy(common.data(), made.view().data, common.size() * sizeof(double));
  double mean = 0;
  for (const double v : common) mean += v / static_cast<double>(common.size());
  for (double& v : common) v -= mean;
  return common;
}

class FixFocus final : public TileStep {
 public:
  FixFocus(InterfaceMapOptions how, double smoothness, bool whole_planes, std::uint64_t levels)
      : how_(how), smoothness_(smoothness), whole_planes_(whole_planes), levels_(levels) {}

  Result<Tiles> begin(const Tiles& in, std::uint64_t /*allowance_bytes*/) override {
    tiles_ = in;
    tiles_.levels = levels_;
    maps_.resize(in.grid.count());
    return tiles_;
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const override {  // of filters, and the map
    return saturating_mul(4, tiles_.tile_bytes());
  }
  [[nodiscard]] std::uint32_t least_looks() const override { return 1; }
  bool looks() override { return map_.empty(); }
  Status look(std::uint64_t tile, const Tensor& elements, const Tools& tools) override {
    PENSTOCK_ASSIGN(const ColumnStatistics columns, column_statistics(elements, tools));
    if (columns.empty()) return {};
    PENSTOCK_ASSIGN(maps_[tile], interface_map(elements, how_, tools));
    take_plane_off(maps_[tile], tiles_.grid);
    return {};
  }
  Status looked(const Tools& tools) override {
    std::erase_if(maps_, [](const std::vector<double>& map) { return map.empty(); });
    if (maps_.empty()) return Error(ErrorCode::invalid_argument, "every tile is empty");
    PENSTOCK_ASSIGN(map_, common_map(maps_, tiles_.grid, smoothness_, tools.options));
    used_ = maps_.size();
    maps_.clear();
    return {};
  }
  [[nodiscard]] Tiles out() const override { return tiles_; }
  Result<Tensor> make(std::uint64_t /*tile*/, Tensor elements, const Tools& tools) const override {
    PENSTOCK_ASSIGN(Tensor moved,
                    Tensor::empty(DType::float32(), tiles_.tile(), tools.work.stream, tools.options.memory));
    PENSTOCK_ASSIGN(const Numbers<double> map, Numbers<double>::make(std::span<const double>(map_), tools.work));
    PENSTOCK_TRY(run_lanes(tiles::MoveColumns{static_cast<const float*>(elements.view().data), map.at(), tiles_.depth,
                                              map_.size(), whole_planes_, static_cast<float*>(moved.view().data)},
                           tools.work, kShortTask));
    return moved;
  }
  Status finish(const std::string& path, StepDone& done) override {
    const std::string file = stem_of(path) + "_focal.npy";
    PENSTOCK_TRY(write_npy(file, Shape{tiles_.grid.tile_rows, tiles_.grid.tile_cols}, map_));
    const auto [least, most] = std::ranges::minmax(map_);
    done.metrics.ran("common map", Device().name());
    done.metrics.add("tiles", used_, "tiles", "tiles that the map was made of");
    done.metrics.add("map_min", least, "planes", "least of the map, whose mean is 0");
    done.metrics.add("map_max", most, "planes", "largest of the map");
    done.text =
        fmt::format("{}: focus from {:.2f} to {:.2f} planes of {} tiles, in {}\n", path, least, most, used_, file);
    return {};
  }

 private:
  InterfaceMapOptions how_;
  double smoothness_;
  bool whole_planes_;
  std::uint64_t levels_;
  Tiles tiles_;
  std::vector<std::vector<double>> maps_;  // of each tile; empty: the tile is
  std::vector<double> map_;                // of all
  std::uint64_t used_ = 0;
};

Result<std::unique_ptr<TileStep>> focal_tiles(const StepCall& call) {
  const InterfaceMapOptions how{box_width(call), call.number("sigma_z"), call.flag("use_log"), false, false};
  PENSTOCK_TRY(how.check());
  return std::unique_ptr<TileStep>(
      std::make_unique<FixFocus>(how, call.number("smoothness"), call.flag("compat"), call.count("n_levels")));
}

}  // namespace

Step fix_focal_curvature_step() {
  Step step;
  step.what.name = "fix-focal-curvature";
  step.what.summary = "make the curved focus that tiles share flat";
  step.what.about =
      "The interface of each tile, without the plane that fits it, is what the curve of the focus makes of a flat cut; "
      "the middle of all tiles, smoothed, is one map for every tile. Columns are moved by it, between planes linearly; "
      "the first and the last plane are held at the ends. The map is written beside FIXED as NAME_focal.npy (rows, "
      "columns; planes, mean 0).";
  step.what.arguments = {{"MOSAIC", "mosaic grid", false}, {"FIXED", "the mosaic grid to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("sigma_xy", "3", "width of the box that columns are averaged over, in pixels, fractions cut off"),
      number_option("sigma_z", "2", "standard deviation of the Gaussian along depth, in planes"),
      flag_option("use_log", "look for the interface in the logarithm of the intensity"),
      number_option("smoothness", "0.06",
                    "standard deviation of the Gaussian that smooths the map, as part of a tile's side"),
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
      flag_option("compat", "move by whole planes, cut off towards 0 and around the end, as linumpy does"),
  };
  step.what.example = "mosaic_grid_z00.ome.zarr mosaic_grid_z00_focal.ome.zarr";
  step.tiles = focal_tiles;
  return step;
}

}  // namespace penstock::oct

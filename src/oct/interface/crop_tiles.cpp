#include "oct/interface/crop_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/tiles/columns.hpp"
#include "oct/tiles/kernel.hpp"
#include "oct/tiles/percentiles.hpp"
#include "oct/tiles/tile_step.hpp"

namespace penstock::oct {
namespace {

class CropTiles final : public TileStep {
 public:
  explicit CropTiles(const CropOptions& how) : how_(how) {}

  Result<Tiles> begin(const Tiles& in, std::uint64_t /*allowance_bytes*/) override {
    in_ = made_ = in;
    PENSTOCK_ASSIGN(search_, RiseSearch::make(how_.search, in.depth));
    PENSTOCK_ASSIGN(crop_, crop_at({}, how_, in.depth, in.spacing_mm[0]));  // until it is known
    if (how_.search.percentile_max) {
      if (!(*how_.search.percentile_max > 0) || *how_.search.percentile_max > 100)
        return Error(ErrorCode::invalid_argument, "percentile_max lies between 0 and 100");
      percentile_.begin(1, {*how_.search.percentile_max}, false);
    }
    projection_.begin(in.grid);
    rises_.resize(in.grid.count());
    made_.depth = crop_.planes;
    made_.offset_mm[0] = 0;  // depth counts from the surface
    made_.levels = how_.levels;
    return made_;
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const override {  // padded, filtered, and between
    return saturating_mul(4 * (in_.depth + search_.pad_planes()), 4 * in_.grid.tile_rows * in_.grid.tile_cols);
  }
  [[nodiscard]] std::uint32_t least_looks() const override { return how_.search.percentile_max ? 3 : 2; }
  bool looks() override { return !found_; }
  Status look(std::uint64_t tile, const Tensor& elements, const Tools& tools) override {
    if (in_percentile()) {
      const auto* const values = static_cast<const float*>(elements.view().data);
      PENSTOCK_TRY(percentile_.add(values, in_.depth, pixels(), nullptr, tools));
    }
    if (bright_.empty()) {
      if (look_ > 0) return {};
      PENSTOCK_ASSIGN(const ColumnStatistics columns, column_statistics(elements, tools));
      projection_.put(tile, columns);
      return {};
    }
    PENSTOCK_ASSIGN(rises_[tile], rise_of(tile, elements, tools));
    return {};
  }
  Status looked(const Tools& tools) override {
    ++look_;
    if (in_percentile()) PENSTOCK_TRY(percentile_.end_look(tools));
    if (bright_.empty()) {
      if (in_percentile()) return {};
      if (how_.search.percentile_max) search_.limit(percentile_.result(0)->front());
      PENSTOCK_ASSIGN(bright_, bright_columns(projection_.values(), tools.options));
      return {};
    }
    std::vector<double> rise(in_.depth);
    for (const std::vector<double>& part : rises_)
      for (std::size_t z = 0; z < part.size(); ++z) rise[z] += part[z];
    PENSTOCK_ASSIGN(const Interface found, RiseSearch::steepest(rise));
    PENSTOCK_ASSIGN(crop_, crop_at(found, how_, in_.depth, in_.spacing_mm[0]));
    made_.depth = crop_.planes;
    made_.offset_mm[0] = -static_cast<double>(crop_.surface - crop_.first) * in_.spacing_mm[0];
    rises_.clear();
    found_ = true;
    return {};
  }
  [[nodiscard]] Tiles out() const override { return made_; }
  Result<Tensor> make(std::uint64_t /*tile*/, Tensor elements, const Tools& tools) const override {
    const auto slice = [](std::uint64_t first, std::uint64_t count) {
      return Slice{static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + count), {}};
    };
    PENSTOCK_ASSIGN(const Tensor kept, elements.slice({slice(crop_.first, crop_.there)}));
    if (crop_.planes == crop_.there) return kept;  // its planes follow each other in memory
    PENSTOCK_ASSIGN(Tensor padded,
                    Tensor::empty(DType::float32(), made_.tile(), tools.work.stream, tools.options.memory));
    PENSTOCK_TRY(
        run_work(tiles::Fill{static_cast<float*>(padded.view().data), 0}, crop_.planes * pixels(), tools.work));
    PENSTOCK_ASSIGN(const TensorView to, padded.view().slice({slice(0, crop_.there)}));
    PENSTOCK_TRY(copy_elements(kept.view(), to));
    return padded;
  }
  Status finish(const std::string& path, StepDone& done) override {
    tell_crop(crop_, path, done);
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t pixels() const { return in_.grid.tile_rows * in_.grid.tile_cols; }
  [[nodiscard]] bool in_percentile() const { return how_.search.percentile_max && percentile_.looks(); }

  Result<std::vector<double>> rise_of(std::uint64_t tile, const Tensor& elements, const Tools& tools) const {
    const TileGrid& grid = in_.grid;
    const std::uint64_t width = grid.cols * grid.tile_cols, pad = search_.pad_planes();
    std::vector<std::uint8_t> bright(pixels());
    const std::uint64_t begin = tile / grid.cols * grid.tile_rows * width + tile % grid.cols * grid.tile_cols;
    for (std::uint64_t r = 0; r < grid.tile_rows; ++r)
      std::copy_n(bright_.begin() + static_cast<std::ptrdiff_t>(begin + r * width), grid.tile_cols,
                  bright.begin() + static_cast<std::ptrdiff_t>(r * grid.tile_cols));
    PENSTOCK_ASSIGN(const Tensor padded,
                    Tensor::empty(DType::float32(), {pad + in_.depth, grid.tile_rows, grid.tile_cols},
                                  tools.work.stream, tools.options.memory));
    PENSTOCK_ASSIGN(const TensorView inner, padded.view().slice({Slice{static_cast<std::int64_t>(pad), {}, {}}}));
    PENSTOCK_TRY(copy_elements(elements.view(), inner));
    return search_.rise(padded, bright, tools);
  }

  CropOptions how_;
  Tiles in_, made_;
  RiseSearch search_;
  TilePercentiles percentile_;
  Projection projection_;
  std::vector<std::uint8_t> bright_;        // columns of the mosaic; empty: not known yet
  std::vector<std::vector<double>> rises_;  // of each tile
  std::uint32_t look_ = 0;
  bool found_ = false;
  Crop crop_;
};

}  // namespace

CropOptions crop_options(const StepCall& call) {
  CropOptions how;
  how.search = {call.number("sigma_xy"), call.number("sigma_z"), {}, call.flag("use_log")};
  how.depth_um = call.number("depth_um");
  how.pad_after = call.flag("pad_after");
  how.keep_above = call.flag("keep_above_interface");
  how.levels = call.count("n_levels");
  how.whole_plane = call.flag("compat");
  if (call.given("percentile_max")) how.search.percentile_max = call.number("percentile_max");
  return how;
}

Result<Crop> crop_at(const Interface& found, const CropOptions& how, std::uint64_t depth, double spacing_mm) {
  const double planes = std::nearbyint(how.depth_um / 1000 / spacing_mm);
  if (!(planes >= 1)) return Error(ErrorCode::invalid_argument, "depth_um is less than a plane");
  if (how.pad_after && planes > 1e6)
    return Error(ErrorCode::invalid_argument, fmt::format("depth_um {}: {} planes", how.depth_um, planes));
  double surface = found.no_rise ? 0 : std::floor(found.depth + 0.5);
  if (how.whole_plane) surface = static_cast<double>(found.plane);
  Crop crop;
  crop.found = found;
  crop.of = depth;
  crop.surface = static_cast<std::uint64_t>(std::clamp(surface, 0.0, static_cast<double>(depth - 1)));
  crop.first = how.keep_above ? 0 : crop.surface;
  crop.wanted = crop.surface - crop.first + static_cast<std::uint64_t>(std::min(planes, 1e9));
  crop.there = std::min(crop.wanted, depth - crop.first);
  crop.planes = how.pad_after ? crop.wanted : crop.there;
  return crop;
}

void tell_crop(const Crop& crop, const std::string& path, StepDone& done) {
  if (crop.there < crop.wanted)
    done.metrics.warn(fmt::format("{} planes lie below the interface, {} are wanted",
                                  crop.first + crop.there - crop.surface, crop.first + crop.wanted - crop.surface));
  if (crop.surface == 0 || crop.surface == crop.of - 1)
    done.metrics.warn(fmt::format("the interface was found at the {} plane", crop.surface == 0 ? "first" : "last"));
  done.metrics.add("interface_plane", crop.surface, "planes", "plane at which tissue begins");
  done.metrics.add("interface_depth", crop.found.depth, "planes", "the steepest rise, with its fraction");
  done.metrics.add("planes", crop.planes, "planes", "planes that are kept");
  done.text = fmt::format("{}: interface at plane {} ({:.2f}), {} planes kept\n", path, crop.surface, crop.found.depth,
                          crop.planes);
}

Result<std::unique_ptr<TileStep>> crop_tiles(const StepCall& call) {
  if (!call.flag("tiles")) return std::unique_ptr<TileStep>();
  return std::unique_ptr<TileStep>(std::make_unique<CropTiles>(crop_options(call)));
}

}  // namespace penstock::oct

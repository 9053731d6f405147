#include "oct/illumination/fix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/file/names.hpp"
#include "oct/file/npy.hpp"
#include "oct/illumination/basic_field.hpp"
#include "oct/illumination/flat_field.hpp"
#include "oct/tiles/columns.hpp"
#include "oct/tiles/kernel.hpp"
#include "oct/tiles/tile_step.hpp"

namespace penstock::oct {
namespace {

/// Divides tiles by what a maker of fields has found.
class FixIllumination final : public TileStep {
 public:
  explicit FixIllumination(std::unique_ptr<FieldMaker> maker) : maker_(std::move(maker)) {}

  Result<Tiles> begin(const Tiles& in, std::uint64_t allowance_bytes) override {
    tiles_ = in;
    PENSTOCK_TRY(maker_->begin(in, allowance_bytes));
    return in;
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const override { return maker_->scratch_bytes(); }
  [[nodiscard]] std::uint32_t least_looks() const override { return maker_->least_looks(); }
  bool looks() override { return maker_->looks(); }
  Status look(std::uint64_t tile, const Tensor& elements, const Tools& tools) override {
    return maker_->look(tile, elements, tools);
  }
  Status looked(const Tools& tools) override { return maker_->looked(tools); }
  [[nodiscard]] Tiles out() const override { return tiles_; }
  Result<Tensor> make(std::uint64_t /*tile*/, Tensor elements, const Tools& tools) const override {
    const std::vector<float>& field = maker_->fields().values;
    const std::uint64_t pixels = tiles_.grid.tile_rows * tiles_.grid.tile_cols;
    PENSTOCK_ASSIGN(Tensor even,
                    Tensor::empty(DType::float32(), tiles_.tile(), tools.work.stream, tools.options.memory));
    PENSTOCK_ASSIGN(const Numbers<float> there, Numbers<float>::make(std::span<const float>(field), tools.work));
    PENSTOCK_TRY(run_lanes(tiles::Divide{static_cast<const float*>(elements.view().data), there.at(), tiles_.depth,
                                         pixels, maker_->fields().planes, static_cast<float*>(even.view().data)},
                           tools.work, kShortTask));
    return even;
  }
  Status finish(const std::string& path, StepDone& done) override {
    const Fields& fields = maker_->fields();
    const std::uint64_t rows = tiles_.grid.tile_rows, cols = tiles_.grid.tile_cols, pixels = rows * cols;
    std::vector<double> mean(pixels);
    for (std::size_t i = 0; i < fields.values.size(); ++i)
      mean[i % pixels] += static_cast<double>(fields.values[i]) / static_cast<double>(fields.planes);
    const std::string flat = stem_of(path) + "_flatfield.npy";
    PENSTOCK_TRY(write_npy(flat, Shape{rows, cols}, mean));
    if (fields.planes > 1)
      PENSTOCK_TRY(write_npy(stem_of(path) + "_flatfields.npy", Shape{fields.planes, rows, cols},
                             std::vector<double>(fields.values.begin(), fields.values.end())));
    maker_->tell(done.metrics);
    const auto [least, most] = std::ranges::minmax(mean);
    done.metrics.add("flatfield_min", least, "", "least of the flat field, whose mean is 1");
    done.metrics.add("flatfield_max", most, "", "largest of the flat field");
    done.text = fmt::format("{}: flat field from {:.3f} to {:.3f} of {} tiles, in {}\n", path, least, most,
                            maker_->tiles_used(), flat);
    return {};
  }

 private:
  std::unique_ptr<FieldMaker> maker_;
  Tiles tiles_;
};

/// A field from the projection of all tiles.
class ProjectedField final : public FieldMaker {
 public:
  ProjectedField(bool overlap, double smoothness) : overlap_(overlap), smoothness_(smoothness) {}

  Status begin(const Tiles& in, std::uint64_t /*allowance_bytes*/) override {
    tiles_ = in;
    projection_.begin(in.grid);
    return {};
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const override { return 0; }
  [[nodiscard]] std::uint32_t least_looks() const override { return 1; }
  bool looks() override { return fields_.values.empty(); }
  Status look(std::uint64_t tile, const Tensor& elements, const Tools& tools) override {
    PENSTOCK_ASSIGN(const ColumnStatistics columns, column_statistics(elements, tools));
    projection_.put(tile, columns);
    return {};
  }
  Status looked(const Tools& tools) override {
    const Shape shape = tiles_.mosaic();
    Image image{shape[1], shape[2], std::move(projection_.values())};
    FlatField field;
    if (overlap_) {
      PENSTOCK_ASSIGN(field, overlap_flat_field(image, tiles_.grid, tools.options));
    } else {
      PENSTOCK_ASSIGN(field, mean_flat_field(image.values, tiles_.grid, smoothness_, tools.options));
    }
    fields_ = {1, std::vector<float>(field.values.begin(), field.values.end())};
    used_ = field.tiles, pairs_ = field.pairs;
    return {};
  }
  [[nodiscard]] const Fields& fields() const override { return fields_; }
  [[nodiscard]] std::uint64_t tiles_used() const override { return used_; }
  void tell(Metrics& metrics) const override {
    if (overlap_ && pairs_ == 0)
      metrics.warn("no overlap of two tiles shows anything; the illumination is left as it is");
    metrics.add("tiles", used_, "tiles", "tiles that the flat field was made of");
    metrics.add("pairs", pairs_, "pairs", "overlaps that the flat field was made of");
  }

 private:
  bool overlap_;
  double smoothness_;
  Tiles tiles_;
  Projection projection_;
  Fields fields_;
  std::uint64_t used_ = 0, pairs_ = 0;
};

Result<std::unique_ptr<TileStep>> illumination_tiles(const StepCall& call) {
  std::unique_ptr<FieldMaker> maker;
  if (call.text("method") == "basic") {
    BasicFieldOptions how;
    how.each_plane = call.text("fit") == "planes";
    how.percentile_max = call.number("percentile_max");
    how.working_size = call.count("working_size");
    how.max_samples = call.count("max_samples");
    how.solver.smoothness = call.given("basic_smoothness") ? call.number("basic_smoothness") : 0;
    how.solver.max_iterations =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(call.count("max_iterations"), 1 << 20));
    PENSTOCK_ASSIGN(maker, make_basic_field(how));
  } else {
    maker = std::make_unique<ProjectedField>(call.text("method") == "overlap", call.number("smoothness"));
  }
  return std::unique_ptr<TileStep>(std::make_unique<FixIllumination>(std::move(maker)));
}

}  // namespace

Step fix_illumination_step() {
  Step step;
  step.what.name = "fix-illumination";
  step.what.summary = "divide tiles by the flat field that they share";
  step.what.about =
      "overlap: the field is fitted to what neighbouring tiles disagree on where they show the same place; the "
      "logarithm of the field is a polynomial of the third degree. basic: BaSiC (Peng et al. 2017), which tells the "
      "smooth field that tiles share from what stands out in each of them. mean: the field is the mean of all tiles "
      "over depth, each scaled to mean 1, smoothed; what tiles show must average out, so it needs many. The field is "
      "written beside FIXED as NAME_flatfield.npy (rows, columns; mean 1), those of single planes as "
      "NAME_flatfields.npy (planes, rows, columns).";
  step.what.arguments = {{"MOSAIC", "mosaic grid", false}, {"FIXED", "the mosaic grid to write, NAME.ome.zarr", true}};
  step.what.options = {
      choice_option("method", {"overlap", "basic", "mean"}, "what the field is made of"),
      number_option("smoothness", "0.15",
                    "mean: standard deviation of the Gaussian that smooths the field, as part of a tile's side"),
      choice_option("fit", {"planes", "slice"}, "basic: a field for each plane, or one for all"),
      number_option("percentile_max", "99.9",
                    "basic: what is brighter than this percentile of the mosaic counts as it"),
      count_option("working_size", "128", "basic: tiles are fitted at this many rows and columns, or their own"),
      count_option("max_samples", "500", "basic, fit slice: images of planes that it is fitted to, at most"),
      count_option("max_iterations", "500", "basic: iterations of a round, at most"),
      number_option("basic_smoothness", "", "basic: price of each cosine of the field; default by the mean image"),
  };
  step.what.example = "mosaic_grid_z00.ome.zarr mosaic_grid_z00_illum.ome.zarr";
  step.tiles = illumination_tiles;
  return step;
}

}  // namespace penstock::oct

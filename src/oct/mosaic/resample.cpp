#include "oct/mosaic/resample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/tiles/tile_step.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

std::string resize_arguments(const Shape& shape, std::string_view align) {
  return fmt::format(R"({{"output_shape":[{},{},{}],"align":"{}"}})", shape[0], shape[1], shape[2], align);
}

class Resample final : public TileStep {
 public:
  Resample(double target_mm, std::string align, std::uint64_t levels)
      : target_mm_(target_mm), align_(std::move(align)), levels_(levels) {}

  Result<Tiles> begin(const Tiles& in, std::uint64_t /*allowance_bytes*/) override {
    from_ = in.tile();
    made_ = in;
    Shape to;
    for (std::size_t d = 0; d < 3; ++d) {
      to.push_back(resampled_extent(from_[d], in.spacing_mm[d], target_mm_));
      if (to[d] > 8 * from_[d])
        return Error(ErrorCode::invalid_argument,
                     fmt::format("resolution_um {}: the mosaic's is {}", target_mm_ * 1000, in.spacing_mm[d] * 1000));
      made_.spacing_mm[d] = in.spacing_mm[d] * static_cast<double>(from_[d]) / static_cast<double>(to[d]);
    }
    made_.depth = to[0];
    made_.grid.tile_rows = to[1], made_.grid.tile_cols = to[2];
    made_.offset_mm.assign(3, 0);
    made_.levels = levels_;
    return made_;
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const override {  // of filters along each axis
    return 2 * sizeof(float) * from_[0] * from_[1] * from_[2];
  }
  [[nodiscard]] Tiles out() const override { return made_; }
  Result<Tensor> make(std::uint64_t /*tile*/, Tensor elements, const Tools& tools) const override {
    const OpCall resize{"resize", resize_arguments(made_.tile(), align_)};
    return apply_operators(std::span(&resize, 1), elements.view(), tools.options);
  }
  Status finish(const std::string& path, StepDone& done) override {
    done.metrics.note("tile_shape", made_.tile(), "pixels of a tile: depth, rows, columns");
    done.metrics.note("spacing_mm", made_.spacing_mm, "voxel size: depth, rows, columns");
    done.text = fmt::format("{}: tiles of {} from {}\n", path, to_string(made_.tile()), to_string(from_));
    return {};
  }

 private:
  double target_mm_;
  std::string align_;
  std::uint64_t levels_;
  Shape from_;
  Tiles made_;
};

Result<std::unique_ptr<TileStep>> resample_tiles(const StepCall& call) {
  const double target_mm = call.number("resolution_um") / 1000;
  if (!(target_mm > 0)) return Error(ErrorCode::invalid_argument, "resolution_um must be above 0");
  return std::unique_ptr<TileStep>(std::make_unique<Resample>(target_mm, call.text("align"), call.count("n_levels")));
}

}  // namespace

std::uint64_t resampled_extent(std::uint64_t extent, double spacing_mm, double target_mm) {
  const double wanted = std::nearbyint(static_cast<double>(extent) * spacing_mm / target_mm);
  return static_cast<std::uint64_t>(std::clamp(wanted, 1.0, 1e9));
}

Status resample_tile(std::span<const float> tile, const Shape& shape, std::string_view align, Device device,
                     const TensorView& out, const Options& options) {
  Stream stream;
  if (device.type != Device::Type::cpu) {
    PENSTOCK_ASSIGN(stream, Stream::create(device));
  }
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(const_cast<float*>(tile.data()), DType::float32(), shape));
  PENSTOCK_ASSIGN(const Tensor there, Tensor::share(nullptr, view).to(stream));
  const OpCall resize{"resize", resize_arguments(out.shape, align)};
  PENSTOCK_ASSIGN(const Tensor made, apply_operators(std::span(&resize, 1), there.view(), options));
  return copy_elements(made.view(), out);
}

Step resample_step() {
  Step step;
  step.what.name = "resample-mosaic";
  step.what.summary = "tiles of a mosaic grid at another resolution";
  step.what.about =
      "Each tile by itself: a Gaussian where it becomes smaller, then linear interpolation. Its pixels are the nearest "
      "whole number, and the voxel size that is written is what they truly have.";
  step.what.arguments = {{"MOSAIC", "mosaic grid", false},
                         {"RESAMPLED", "the mosaic grid to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("resolution_um", "10", "voxel size to resample to"),
      choice_option("align", {"half_pixel", "corners"},
                    "half_pixel: the areas of tiles lie on each other (scikit-image); corners: their outermost pixels "
                    "(SciPy's zoom)"),
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
  };
  step.what.example = "mosaic_grid_z00.ome.zarr mosaic_grid_z00_30um.ome.zarr --resolution-um 30";
  step.tiles = resample_tiles;
  return step;
}

}  // namespace penstock::oct

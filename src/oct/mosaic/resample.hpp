// Tiles of a mosaic grid at another resolution, each by itself.
#pragma once
#include <span>
#include <string_view>

#include "oct/step.hpp"
#include "penstock/tensor.hpp"

namespace penstock::oct {

/// Elements that `extent` of them at `spacing_mm` become at `target_mm`: the nearest whole number, at least 1.
std::uint64_t resampled_extent(std::uint64_t extent, double spacing_mm, double target_mm);
/// A tile (C order, host memory) in another shape, on the device; `align`: half_pixel or corners.
Status resample_tile(std::span<const float> tile, const Shape& shape, std::string_view align, Device device,
                     const TensorView& out, const Options& options);

Step resample_step();

}  // namespace penstock::oct

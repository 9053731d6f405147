#include "oct/interface/depth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/kernels/run.hpp"
#include "oct/mosaic/aip.hpp"
#include "oct/walk/walk.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

/// The 5th percentile of what is above 0; below all where nothing is.
Result<double> bright_threshold(const std::vector<float>& projection, const Options& options) {
  std::vector<float> positive;
  for (const float v : projection)
    if (v > 0) positive.push_back(v);
  if (positive.empty()) return -1.0;
  StatisticsRequest request;
  request.percentiles = {5};
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(positive.data(), DType::float32(), {positive.size()}));
  PENSTOCK_ASSIGN(const Statistics made, statistics(view, request, options));
  return made.percentiles[0];
}

/// Sums of the smoothed derivative over bright columns, tile by tile.
struct Search {
  const Volume& slice;
  std::vector<OpCall> calls;
  bool logarithm = false;
  std::uint64_t pad = 0;   ///< planes in front, copies of the first
  std::uint64_t halo = 0;  ///< columns around a tile that its filters reach
  std::vector<float> projection;
  double threshold = 0;

  /// The tile with the columns around it.
  [[nodiscard]] Region needs(const Region& tile) const {
    Region box = tile;
    for (std::size_t d = 1; d < 3; ++d) {
      const std::uint64_t first = tile[d].start - std::min(tile[d].start, halo);
      box[d] = {first, std::min(tile[d].start + tile[d].count + halo, slice.shape[d]) - first, 1};
    }
    return box;
  }
  [[nodiscard]] Shape padded(const Region& box) const { return {box[0].count + pad, box[1].count, box[2].count}; }
  [[nodiscard]] std::uint64_t scratch_bytes(const Region& tile) const {
    const Shape shape = padded(needs(tile));
    const auto bytes = apply_bytes(calls, shape);
    return bytes ? *bytes + 8 * shape[0] * shape[1] * shape[2] + 4 * tile[1].count * tile[2].count : ~std::uint64_t{0};
  }

  /// `sums`: (planes, columns of the slice), where the step works.
  Status add(const Tile& in, const Region& tile, double* sums, const Workspace& work) const {
    const Shape shape = padded(in.box);
    const std::uint64_t elements = shape[0] * shape[1] * shape[2];
    PENSTOCK_ASSIGN(const auto front, hold<float>(elements, work));
    PENSTOCK_ASSIGN(const TensorView all, TensorView::packed(front.data(), DType::float32(), shape, work.stream));
    PENSTOCK_ASSIGN(const TensorView inner, all.slice({Slice{static_cast<std::int64_t>(pad), {}, {}}}));
    if (logarithm)
      PENSTOCK_TRY(run_kernel(LogOfPositive{const_box(in.view), static_cast<float*>(inner.data)},
                              in.box[0].count * shape[1] * shape[2], work));
    else
      PENSTOCK_TRY(copy_elements(in.view, inner));
    for (std::uint64_t p = 0; p < pad; ++p) {
      PENSTOCK_ASSIGN(const TensorView from, inner.slice({std::int64_t{0}}));
      PENSTOCK_ASSIGN(const TensorView to, all.slice({static_cast<std::int64_t>(p)}));
      PENSTOCK_TRY(copy_elements(from, to));
    }
    PENSTOCK_ASSIGN(const auto smooth, hold<float>(elements, work));
    PENSTOCK_TRY(apply_here(calls, all, smooth.data(), work));
    PENSTOCK_ASSIGN(const TensorView made, TensorView::packed(smooth.data(), DType::float32(), shape, work.stream));
    const Region own = {{pad, in.box[0].count, 1},
                        {tile[1].start - in.box[1].start, tile[1].count, 1},
                        {tile[2].start - in.box[2].start, tile[2].count, 1}};
    PENSTOCK_ASSIGN(const TensorView part, part_of_box(made, whole(shape), own));
    std::vector<float> bright;
    for (std::uint64_t r = 0; r < tile[1].count; ++r) {
      const float* const row = projection.data() + (tile[1].start + r) * slice.shape[2] + tile[2].start;
      bright.insert(bright.end(), row, row + tile[2].count);
    }
    PENSTOCK_ASSIGN(const auto brightness, uploaded(bright.data(), bright.size(), work));
    const AddBrightRows sum{const_box(part), brightness.data(), threshold, sums, slice.shape[2], tile[2].start};
    PENSTOCK_TRY(run_kernel(sum, sum.in.depth * sum.in.cols, work));
    return work.stream.synchronize();
  }
};

}  // namespace

double peak_near(const std::vector<double>& values, std::size_t at) {
  if (at == 0 || at + 1 >= values.size()) return static_cast<double>(at);
  return static_cast<double>(at) + above_peak(values[at - 1], values[at], values[at + 1]);
}

Result<Interface> find_interface(const Volume& slice, const std::string& path, const InterfaceOptions& how,
                                 Device device, const Options& options) {
  if (!(how.sigma_xy >= 0) || !(how.sigma_z > 0) || how.sigma_xy > 1000 || how.sigma_z > 1000)
    return Error(ErrorCode::invalid_argument, "sigma_z must be above 0 and sigma_xy not below, both at most 1000");
  Search search{slice,
                {},
                how.logarithm,
                static_cast<std::uint64_t>(std::nearbyint(4 * how.sigma_z)),
                static_cast<std::uint64_t>(4 * how.sigma_xy + 0.5),
                {},
                0};
  if (how.percentile_max) {
    StatisticsRequest request;
    request.percentiles = {*how.percentile_max};
    PENSTOCK_ASSIGN_IN(const Statistics made, statistics(slice.array, request, device, options), path);
    if (made.nans > 0)
      return Error(ErrorCode::invalid_argument,
                   fmt::format("{}: {} elements are no numbers, so there is no percentile_max", path, made.nans));
    const double most = made.percentiles[0];
    search.calls.push_back({"clip", fmt::format(R"({{"max":{}}})", how.logarithm && most > 0 ? std::log(most) : most)});
  }
  search.calls.push_back({"gaussian_filter", fmt::format(R"({{"sigma":[{},{},{}],"order":[1,0,0]}})", how.sigma_z,
                                                         how.sigma_xy, how.sigma_xy)});
  PENSTOCK_ASSIGN_IN(search.projection, average_projection(slice, device, options), path);
  PENSTOCK_ASSIGN(search.threshold, bright_threshold(search.projection, options));
  const std::uint64_t depth = slice.shape[0], cols = slice.shape[2];
  std::vector<double> sums(depth * cols, 0), rise(depth, 0);
  const std::uint64_t held = 2 * 8 * sums.size() + 4 * search.projection.size();
  PENSTOCK_ASSIGN(const Options rest, without_held(options, held, "oct crop-below-interface"));
  PENSTOCK_ASSIGN(const Place place, Place::make("oct crop-below-interface", device, rest));
  PENSTOCK_ASSIGN(const auto there, uploaded(sums.data(), sums.size(), place.work()));
  PENSTOCK_TRY(place.work().stream.synchronize());
  Pass pass{"oct crop-below-interface", slice.shape, {depth, slice.chunks[1], slice.chunks[2]}};
  pass.needs = [&](const Region& tile) { return search.needs(tile); };
  pass.scratch_bytes = [&](const Region& tile) { return search.scratch_bytes(tile); };
  pass.make = [&](const Tile& in, const Tile& out, const Workspace& work) {
    return search.add(in, out.box, there.data(), work);
  };
  PENSTOCK_ASSIGN(const Source source, source_of(slice, path, device, rest));
  PENSTOCK_TRY(look_at(source, pass, device, rest));
  PENSTOCK_TRY(download(there.data(), sums.size(), sums.data(), place.work()));
  for (std::uint64_t z = 0; z < depth; ++z)
    for (std::uint64_t c = 0; c < cols; ++c) rise[z] += sums[z * cols + c];
  Interface found;
  const auto steepest = std::ranges::max_element(rise);
  if (steepest == rise.end()) return Error(ErrorCode::invalid_argument, "the slice has no planes");
  found.plane = static_cast<std::uint64_t>(steepest - rise.begin());
  found.depth = peak_near(rise, found.plane);
  return found;
}

}  // namespace penstock::oct

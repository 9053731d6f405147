#include "oct/score/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "oct/mosaic/aip.hpp"
#include "oct/transform/offset.hpp"
#include "penstock/ngff.hpp"

namespace penstock::oct {
namespace {

constexpr std::int64_t kPlanes = 4;   // looked through up and down
constexpr std::uint64_t kPixels = 5;  // and across
constexpr std::uint64_t kBand = 100;  // rows that are read at once

/// Some planes in host memory.
struct Planes {
  Block block;
  std::uint64_t rows, cols;
  [[nodiscard]] Image image(std::uint64_t z) const {
    const auto* const from = block.values.data() + z * rows * cols;
    return {rows, cols, {from, from + rows * cols}};
  }
  /// The mean of `count` planes; 0 where one of them is.
  [[nodiscard]] Image mean(std::uint64_t first, std::uint64_t count) const {
    Image out{rows, cols, std::vector<float>(rows * cols)};
    for (std::uint64_t i = 0; i < rows * cols; ++i) {
      float sum = 0;
      bool all = true;
      for (std::uint64_t z = first; z < first + count; ++z) {
        const float v = block.values[z * rows * cols + i];
        all = all && v != 0;
        sum += v;
      }
      out.values[i] = all ? sum / static_cast<float>(count) : 0;
    }
    return out;
  }
};

Result<Planes> read_planes(const Volume& volume, std::uint64_t first, std::uint64_t count, const Options& options) {
  PENSTOCK_ASSIGN(
      Block block,
      read_block(volume.array, {{first, count, 1}, {0, volume.shape[1], 1}, {0, volume.shape[2], 1}}, options));
  return Planes{std::move(block), volume.shape[1], volume.shape[2]};
}

/// Of a region, in bands of planes and rows.
Result<double> mean_of(const Array& array, const Region& region, const Options& options) {
  double sum = 0, count = 0;
  for (std::uint64_t z = 0; z < region[0].count; z += kBand)
    for (std::uint64_t row = 0; row < region[1].count; row += kBand) {
      const Range planes = {z, std::min(kBand, region[0].count - z), 1},
                  rows = {row, std::min(kBand, region[1].count - row), 1};
      PENSTOCK_ASSIGN(const Block block, read_block(array, {planes, rows, region[2]}, options));
      for (const float v : block.values) sum += v;
      count += static_cast<double>(block.values.size());
    }
  return sum / count;
}

}  // namespace

Result<std::uint64_t> different_elements(const Volume& a, const Volume& b, const Options& options) {
  if (a.shape != b.shape)
    return Error(ErrorCode::invalid_metadata, fmt::format("shape {}, not {}", to_string(a.shape), to_string(b.shape)));
  std::atomic<std::uint64_t> different{0};
  PENSTOCK_TRY(for_each_object(a.shape, a.chunks, 8 * a.chunks[0] * a.chunks[1] * a.chunks[2], "oct score", options,
                               [&](const Region& region, const Options& inner) -> Status {
                                 PENSTOCK_ASSIGN(const Block x, read_block(a.array, region, inner));
                                 PENSTOCK_ASSIGN(const Block y, read_block(b.array, region, inner));
                                 std::uint64_t here = 0;
                                 for (std::size_t i = 0; i < x.values.size(); ++i)
                                   here += std::memcmp(&x.values[i], &y.values[i], sizeof(float)) != 0 ? 1 : 0;
                                 different += here;
                                 return {};
                               }));
  return different.load();
}

Result<std::optional<Displacement>> displacement(const Volume& made, std::uint64_t first, const Volume& truth,
                                                 std::uint64_t truth_first, std::uint64_t planes,
                                                 const Options& options) {
  const auto low = static_cast<std::int64_t>(truth_first) - kPlanes;
  const std::uint64_t before = low < 0 ? static_cast<std::uint64_t>(-low) : 0;  // planes that the truth does not have
  const std::uint64_t start = static_cast<std::uint64_t>(std::max<std::int64_t>(low, 0));
  const std::uint64_t end = std::min(truth_first + planes + kPlanes, truth.shape[0]);
  if (first + planes > made.shape[0] || end < start + planes)
    return Error(ErrorCode::invalid_metadata, "fewer planes than are to be compared");
  PENSTOCK_ASSIGN(const Planes ours, read_planes(made, first, planes, options));
  PENSTOCK_ASSIGN(const Planes theirs, read_planes(truth, start, end - start, options));
  // Roughly across first: the mean of many planes hardly changes from plane to plane.
  PENSTOCK_ASSIGN(const auto rough, find_offset(theirs.mean(static_cast<std::uint64_t>(kPlanes) - before, planes),
                                                ours.mean(0, planes), {}, kPixels, options));
  if (!rough) return std::optional<Displacement>();
  std::vector<double> scores;
  std::vector<std::int64_t> distances;
  for (std::int64_t d = -kPlanes; d <= kPlanes; ++d) {
    const std::int64_t at = d + kPlanes - static_cast<std::int64_t>(before);
    if (at < 0 || static_cast<std::uint64_t>(at) + planes > end - start) continue;
    double sum = 0;
    for (std::uint64_t z = 0; z < planes; z += 2) {
      PENSTOCK_ASSIGN(const auto offset,
                      find_offset(theirs.image(static_cast<std::uint64_t>(at) + z), ours.image(z), *rough, 1, options));
      if (offset) sum += offset->score;
    }
    scores.push_back(sum);
    distances.push_back(d);
  }
  const auto best = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
  Displacement found;
  found.plane = static_cast<double>(distances[best]);
  if (best > 0 && best + 1 < scores.size()) {
    const double curve = scores[best - 1] - 2 * scores[best] + scores[best + 1];
    if (curve < 0) found.plane += 0.5 * (scores[best - 1] - scores[best + 1]) / curve;
  }
  const auto at = static_cast<std::uint64_t>(distances[best] + kPlanes - static_cast<std::int64_t>(before));
  PENSTOCK_ASSIGN(const auto across, find_offset(theirs.mean(at, planes), ours.mean(0, planes), {}, kPixels, options));
  if (!across) return std::optional<Displacement>();
  found.row = across->row, found.col = across->col, found.correlation = across->score;
  return std::optional(found);
}

Result<double> projection_likeness(const Volume& made, const Volume& truth, const Options& options) {
  PENSTOCK_ASSIGN(const std::vector<float> ours, average_projection(made, {}, options));
  PENSTOCK_ASSIGN(const std::vector<float> theirs, average_projection(truth, {}, options));
  const auto shift = [&](std::size_t d) {
    return static_cast<std::int64_t>(std::nearbyint((made.offset_mm[d] - truth.offset_mm[d]) / truth.spacing_mm[d]));
  };
  const std::int64_t down = shift(1), right = shift(2);
  double n = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;
  for (std::uint64_t i = 0; i < ours.size(); ++i) {
    const std::int64_t r = static_cast<std::int64_t>(i / made.shape[2]) + down,
                       c = static_cast<std::int64_t>(i % made.shape[2]) + right;
    if (r < 0 || c < 0 || r >= static_cast<std::int64_t>(truth.shape[1]) ||
        c >= static_cast<std::int64_t>(truth.shape[2]))
      continue;
    const double x = ours[i], y = theirs[static_cast<std::size_t>(r) * truth.shape[2] + static_cast<std::size_t>(c)];
    if (x == 0 || y == 0 || !std::isfinite(x)) continue;
    n += 1, a += x, b += y, aa += x * x, bb += y * y, ab += x * y;
  }
  if (n == 0) return -1.0;
  const double variances = (aa / n - a / n * (a / n)) * (bb / n - b / n * (b / n));
  return variances > 0 ? (ab / n - a / n * (b / n)) / std::sqrt(variances) : -1.0;
}

Result<std::optional<double>> plane_step(const Volume& volume, std::uint64_t z, const Options& options) {
  double before = 0, after = 0;
  for (std::uint64_t row = 0; row < volume.shape[1]; row += kBand) {
    const Range rows = {row, std::min(kBand, volume.shape[1] - row), 1};
    PENSTOCK_ASSIGN(const Block block,
                    read_block(volume.array, {{z - 1, 2, 1}, rows, {0, volume.shape[2], 1}}, options));
    const std::size_t pixels = block.values.size() / 2;
    for (std::size_t i = 0; i < pixels; ++i) {
      const float x = block.values[i], y = block.values[pixels + i];
      if (x > 0 && y > 0) before += x, after += y;
    }
  }
  return before > 0 ? std::optional((after - before) / ((after + before) / 2)) : std::nullopt;
}

Result<PyramidFit> compare_pyramid(const std::string& path, const Volume& volume, const Options& options) {
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(path, StoreMode::read));
  PyramidFit fit;
  Shape fine = volume.shape;
  for (std::uint64_t k = 1; k < 32; ++k) {
    PENSTOCK_ASSIGN(const bool there, store->exists(std::to_string(k) + "/zarr.json"));
    if (!there) break;
    PENSTOCK_ASSIGN(const Array level, Array::open(store, std::to_string(k)));
    PENSTOCK_ASSIGN(const std::vector<Dimension> dims, image_dimensions(level));
    const Shape shape = level.dataset().shape;
    Region here, whole_blocks;  // what is left over at an end is not compared
    bool right = dims.size() == shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      right = right && (shape[d] == fine[d] / 2 || shape[d] == (fine[d] + 1) / 2) && dims[d].scale &&
              std::abs(*dims[d].scale / (volume.spacing_mm[d] * std::exp2(k)) - 1) < 1e-12;
      const std::uint64_t blocks = std::min(volume.shape[d] >> k, shape[d]);
      here.push_back({0, blocks, 1});
      whole_blocks.push_back({0, blocks << k, 1});
    }
    fit.wrong += right ? 0 : 1;
    if (std::ranges::all_of(here, [](const Range& range) { return range.count > 0; })) {
      PENSTOCK_ASSIGN(const double coarse_mean, mean_of(level, here, options));
      PENSTOCK_ASSIGN(const double fine_mean, mean_of(volume.array, whole_blocks, options));
      fit.worst_mean = std::max(fit.worst_mean, std::abs(coarse_mean / fine_mean - 1));
    }
    fine = shape;
  }
  return fit;
}

}  // namespace penstock::oct

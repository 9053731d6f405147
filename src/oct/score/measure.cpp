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

constexpr std::uint64_t kPlanes = 4;  // looked through up and down
constexpr std::uint64_t kPixels = 5;  // and across, from where it should lie
constexpr std::uint64_t kBand = 100;  // rows that are read at once

using transform::ImageView;

/// Planes of a volume, in host memory that the step owns.
struct Planes {
  Tensor tensor;
  std::uint64_t rows, cols;
  [[nodiscard]] const float* plane(std::uint64_t z) const {
    return static_cast<const float*>(tensor.view().data) + z * rows * cols;
  }
  [[nodiscard]] ImageView image(std::uint64_t z) const { return {plane(z), rows, cols, cols}; }
  /// The mean of `count` planes, in `held`; 0 where one of them is.
  [[nodiscard]] Result<ImageView> mean(std::uint64_t first, std::uint64_t count, Numbers<float>& held,
                                       const Workspace& work) const {
    PENSTOCK_ASSIGN(held, Numbers<float>::make(rows * cols, work));
    float* const to = held.at();
    PENSTOCK_TRY(work.job->for_each(rows, true, [&](std::uint64_t r) -> Status {
      for (std::uint64_t i = r * cols; i < (r + 1) * cols; ++i) {
        float sum = 0;
        bool all = true;
        for (std::uint64_t z = first; z < first + count; ++z) {
          const float v = plane(z)[i];
          all = all && v != 0;
          sum += v;
        }
        to[i] = all ? sum / static_cast<float>(count) : 0;
      }
      return {};
    }));
    return ImageView{to, rows, cols, cols};
  }
};

Result<Planes> read_planes(const Volume& volume, std::uint64_t first, std::uint64_t count, const Tools& tools) {
  const Region region = {{first, count, 1}, {0, volume.shape[1], 1}, {0, volume.shape[2], 1}};
  PENSTOCK_ASSIGN(Tensor tensor, volume.array.read(region, what_is_left(tools.options)));
  return Planes{std::move(tensor), volume.shape[1], volume.shape[2]};
}

/// Planes of a result, and those of the truth that they may lie at.
struct Compared {
  Planes ours, theirs;
  std::uint64_t planes;  ///< of ours
  std::int64_t first;    ///< of theirs, from where ours should lie
  Offset said;           ///< where ours begin across, as metadata say

  /// By how much ours lie from there across, when they lie at plane `at` of theirs.
  [[nodiscard]] Result<std::optional<Offset>> across(std::uint64_t at, const Workspace& work) const {
    Numbers<float> held, more_held;
    PENSTOCK_ASSIGN(const ImageView fixed, theirs.mean(at, planes, held, work));
    PENSTOCK_ASSIGN(const ImageView moving, ours.mean(0, planes, more_held, work));
    return find_offset(fixed, moving, said, kPixels, work);
  }

  /// Sums of correlations of single planes, for each plane of theirs that ours may begin at; about `rough` across.
  [[nodiscard]] Result<std::vector<double>> along(const Offset& rough, const Workspace& work) const {
    std::vector<double> scores;
    for (std::uint64_t at = 0; at + planes <= theirs.tensor.view().shape[0]; ++at) {
      double sum = 0;
      for (std::uint64_t z = 0; z < planes; z += 2) {
        PENSTOCK_ASSIGN(const auto offset, find_offset(theirs.image(at + z), ours.image(z), rough, 1, work));
        if (offset) sum += offset->score;
      }
      scores.push_back(sum);
    }
    return scores;
  }

  [[nodiscard]] Result<std::optional<Displacement>> measure(const Workspace& work) const {
    // Roughly across first: the mean of many planes hardly changes from plane to plane.
    PENSTOCK_ASSIGN(const auto rough, across(static_cast<std::uint64_t>(-first), work));
    if (!rough) return std::optional<Displacement>();
    PENSTOCK_ASSIGN(const std::vector<double> scores, along(*rough, work));
    const auto best = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
    Displacement found;
    found.plane = static_cast<double>(first) + static_cast<double>(best);
    if (best > 0 && best + 1 < scores.size()) {
      const double curve = scores[best - 1] - 2 * scores[best] + scores[best + 1];
      if (curve < 0) found.plane += 0.5 * (scores[best - 1] - scores[best + 1]) / curve;
    }
    PENSTOCK_ASSIGN(const auto there, across(best, work));
    if (!there) return std::optional<Displacement>();
    found.row = there->row - said.row, found.col = there->col - said.col, found.correlation = there->score;
    return std::optional(found);
  }
};

/// Where a volume begins in another along an axis, as their NGFF metadata say: pixels of the other.
double begins_at(const Volume& volume, const Volume& in, std::size_t d) {
  return (volume.offset_mm[d] - in.offset_mm[d]) / in.spacing_mm[d];
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
  const std::uint64_t before = std::min(truth_first, kPlanes);  // planes that the truth has there
  const std::uint64_t start = truth_first - before, end = std::min(truth_first + planes + kPlanes, truth.shape[0]);
  if (first + planes > made.shape[0] || end < truth_first + planes)
    return Error(ErrorCode::invalid_metadata, "fewer planes than are to be compared");
  std::optional<Displacement> found;
  PENSTOCK_TRY(with_tools({}, "oct score", options, [&](const Tools& tools) -> Status {
    PENSTOCK_ASSIGN(Planes ours, read_planes(made, first, planes, tools));
    PENSTOCK_ASSIGN(Planes theirs, read_planes(truth, start, end - start, tools));
    const Compared both{std::move(ours),
                        std::move(theirs),
                        planes,
                        -static_cast<std::int64_t>(before),
                        {begins_at(made, truth, 1), begins_at(made, truth, 2), 0}};
    PENSTOCK_ASSIGN(found, both.measure(tools.work));
    return {};
  }));
  return found;
}

Result<double> projection_likeness(const Volume& made, const Volume& truth, const Options& options) {
  PENSTOCK_ASSIGN(const std::vector<float> ours, average_projection(made, {}, options));
  PENSTOCK_ASSIGN(const std::vector<float> theirs, average_projection(truth, {}, options));
  const std::int64_t down = std::llrint(begins_at(made, truth, 1)), right = std::llrint(begins_at(made, truth, 2));
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

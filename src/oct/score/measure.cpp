#include "oct/score/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "oct/transform/offset.hpp"

namespace penstock::oct {
namespace {

constexpr std::int64_t kPlanes = 4;   // looked through up and down
constexpr std::uint64_t kPixels = 5;  // and across

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
  const auto rough =
      find_offset(theirs.mean(static_cast<std::uint64_t>(kPlanes) - before, planes), ours.mean(0, planes), {}, kPixels);
  if (!rough) return std::optional<Displacement>();
  std::vector<double> scores;
  std::vector<std::int64_t> distances;
  for (std::int64_t d = -kPlanes; d <= kPlanes; ++d) {
    const std::int64_t at = d + kPlanes - static_cast<std::int64_t>(before);
    if (at < 0 || static_cast<std::uint64_t>(at) + planes > end - start) continue;
    double sum = 0;
    for (std::uint64_t z = 0; z < planes; z += 2) {
      const auto offset = find_offset(theirs.image(static_cast<std::uint64_t>(at) + z), ours.image(z), *rough, 1);
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
  const auto across = find_offset(theirs.mean(at, planes), ours.mean(0, planes), {}, kPixels);
  if (!across) return std::optional<Displacement>();
  found.row = across->row, found.col = across->col, found.correlation = across->score;
  return std::optional(found);
}

}  // namespace penstock::oct

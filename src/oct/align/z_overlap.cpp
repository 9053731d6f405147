#include "oct/align/z_overlap.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace penstock::oct {
namespace {

constexpr std::uint64_t kBand = 100;  // rows at a time
constexpr double kTiny = 1e-8;        // added to deviations

using Planes = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Sums of two sets of planes over pixels.
struct Sums {
  Eigen::VectorXd a, aa, b, bb;
  Eigen::MatrixXd ab;
  double pixels = 0;
  explicit Sums(Eigen::Index n) : a(Eigen::VectorXd::Zero(n)), aa(a), b(a), bb(a), ab(Eigen::MatrixXd::Zero(n, n)) {}
  void add(const Planes& x, const Planes& y) {
    a += x.rowwise().sum().cast<double>();
    b += y.rowwise().sum().cast<double>();
    aa += x.rowwise().squaredNorm().cast<double>();
    bb += y.rowwise().squaredNorm().cast<double>();
    ab += (x * y.transpose()).cast<double>();
    pixels += static_cast<double>(x.cols());
  }
  /// Of the last `o` planes of a with the first `o` of b.
  [[nodiscard]] double score(Eigen::Index o) const {
    const double n = pixels * static_cast<double>(o);
    const double ma = a.tail(o).sum() / n, mb = b.head(o).sum() / n;
    const double va = aa.tail(o).sum() / n - ma * ma, vb = bb.head(o).sum() / n - mb * mb;
    double product = 0;
    for (Eigen::Index i = 0; i < o; ++i) product += ab(ab.rows() - o + i, i);
    return (product / n - ma * mb) / ((std::sqrt(std::max(va, 0.0)) + kTiny) * (std::sqrt(std::max(vb, 0.0)) + kTiny));
  }
};

Result<Planes> read_planes(const Volume& volume, std::uint64_t first, std::uint64_t count, const Range& rows,
                           const Range& cols, const Options& options) {
  PENSTOCK_ASSIGN(const Block block, read_block(volume.array, {{first, count, 1}, rows, cols}, options));
  return Planes(Eigen::Map<const Planes>(block.values.data(), static_cast<Eigen::Index>(count),
                                         static_cast<Eigen::Index>(rows.count * cols.count)));
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume fixed, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const Volume moving, open_volume(call.path(1), 3));
  const double spacing = fixed.spacing_mm[0];
  const auto in_planes = [&](double mm) {
    const double planes = mm / spacing;
    return std::clamp(call.flag("compat") ? std::trunc(mm * 1000 / (spacing * 1000)) : std::nearbyint(planes), -1e9,
                      1e9);
  };
  const double apart = in_planes(call.number("slicing_interval_mm")), range = in_planes(call.number("search_range_mm"));
  const auto depth = static_cast<double>(std::min(fixed.shape[0], moving.shape[0]));
  const double expected = depth - apart;
  const double least = std::max(1.0, expected - range), most = std::min(depth, expected + range);
  ZOverlap found{static_cast<std::uint64_t>(std::max(expected, 0.0)), 0};
  if (least < most) {
    PENSTOCK_ASSIGN_IN(found,
                       best_z_overlap(fixed, moving, static_cast<std::uint64_t>(least),
                                      static_cast<std::uint64_t>(most), call.options),
                       call.path(1));
  } else {
    done.metrics.warn("there is no overlap to look for; it is the expected one");
  }
  done.metrics.add("overlap", found.planes, "planes", "planes that the slices share");
  done.metrics.add("score", found.score, "", "mean product of normalised intensities there");
  done.metrics.note("expected", expected, "planes, by the slicing interval");
  done.text = fmt::format("{} planes, score {:.4f} (expected {})\n", found.planes, found.score, expected);
  return done;
}

}  // namespace

Result<ZOverlap> best_z_overlap(const Volume& fixed, const Volume& moving, std::uint64_t least, std::uint64_t most,
                                const Options& options) {
  if (fixed.shape[1] != moving.shape[1] || fixed.shape[2] != moving.shape[2])
    return Error(ErrorCode::invalid_metadata, fmt::format("it has {}, the other {}: rows and columns must be the same",
                                                          to_string(moving.shape), to_string(fixed.shape)));
  const std::uint64_t height = fixed.shape[1], width = fixed.shape[2], margin = std::min(height, width) / 4;
  const Range cols = {margin, width - 2 * margin, 1};
  Sums sums(static_cast<Eigen::Index>(most));
  for (std::uint64_t row = margin; row < height - margin; row += kBand) {
    PENSTOCK_TRY(options.stop().check("oct find-z-overlap"));
    const Range rows = {row, std::min(kBand, height - margin - row), 1};
    PENSTOCK_ASSIGN(const Planes a, read_planes(fixed, fixed.shape[0] - most, most, rows, cols, options));
    PENSTOCK_ASSIGN(const Planes b, read_planes(moving, 0, most, rows, cols, options));
    sums.add(a, b);
  }
  ZOverlap best{least, -2};
  for (std::uint64_t o = least; o <= most; ++o)
    if (const double score = sums.score(static_cast<Eigen::Index>(o)); score > best.score) best = {o, score};
  return best;
}

Step find_z_overlap_step() {
  Step step;
  step.what.name = "find-z-overlap";
  step.what.summary = "how many planes two slices share";
  step.what.about =
      "The last planes of FIXED beside the first of MOVING, for every number of planes within the search range about "
      "the one "
      "that the slicing interval says, in the middle half of the image.";
  step.what.arguments = {{"FIXED", "slice", false},
                         {"MOVING", "the slice below it, of the same rows and columns", false}};
  step.what.options = {
      number_option("slicing_interval_mm", "0.2", "distance of neighbouring slices"),
      number_option("search_range_mm", "0.1", "how far from the expected overlap is looked"),
      flag_option("compat", "cut numbers of planes off, as linumpy does, instead of rounding them"),
  };
  step.what.example = "slice_z00_common.ome.zarr slice_z01_common.ome.zarr --slicing-interval-mm 0.24";
  step.run = run;
  return step;
}

}  // namespace penstock::oct

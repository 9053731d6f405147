#include "oct/align/z_overlap.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "oct/stitch/kernel.hpp"
#include "oct/tiles/columns.hpp"

namespace penstock::oct {
namespace {

constexpr double kTiny = 1e-8;  // added to deviations

using Planes = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<const Planes>;

/// Sums of two sets of planes over pixels, of planes less a number that is near their mean, so that little is lost.
class Sums {
 public:
  Sums(std::uint64_t least, std::uint64_t most)
      : least_(static_cast<Eigen::Index>(least)),
        n_(static_cast<Eigen::Index>(most)),
        a_(Eigen::VectorXd::Zero(n_)),
        aa_(a_),
        b_(a_),
        bb_(a_),
        ab_(Eigen::MatrixXd::Zero(n_, n_)) {}

  /// Adds pixels of all planes: those of each overlap are diagonals of one product of matrices.
  void add(const View& a, const View& b) {
    if (pixels_ == 0) shift_a_ = a.mean(), shift_b_ = b.mean();
    for (Eigen::Index at = 0; at < a.cols(); at += kPiece) {
      const Eigen::Index count = std::min(kPiece, a.cols() - at);
      const Planes x = a.middleCols(at, count).array() - shift_a_, y = b.middleCols(at, count).array() - shift_b_;
      a_ += x.rowwise().sum().cast<double>();
      b_ += y.rowwise().sum().cast<double>();
      aa_ += x.rowwise().squaredNorm().cast<double>();
      bb_ += y.rowwise().squaredNorm().cast<double>();
      // Plane q of b meets those from n - most to n - least planes further down in a.
      for (Eigen::Index q = 0; q < n_; q += kRows) {
        const Eigen::Index rows = std::min(kRows, n_ - q), last = std::min(q + rows + n_ - least_, n_);
        ab_.block(q, q, last - q, rows) +=
            (x.middleRows(q, last - q) * y.middleRows(q, rows).transpose()).cast<double>();
      }
    }
    pixels_ += static_cast<double>(a.cols());
  }
  /// The same, where the planes are on a device: `a` and `b` (most, pixels).
  Status add(const Tensor& a, const Tensor& b, const Tools& tools);

  /// Of the last `o` planes of a with the first `o` of b.
  [[nodiscard]] double score(std::uint64_t overlap) const {
    const auto o = static_cast<Eigen::Index>(overlap);
    const double n = pixels_ * static_cast<double>(o);
    const double ma = a_.tail(o).sum() / n, mb = b_.head(o).sum() / n;
    const double va = aa_.tail(o).sum() / n - ma * ma, vb = bb_.head(o).sum() / n - mb * mb;
    double product = 0;
    for (Eigen::Index i = 0; i < o; ++i) product += ab_(n_ - o + i, i);
    return (product / n - ma * mb) / ((std::sqrt(std::max(va, 0.0)) + kTiny) * (std::sqrt(std::max(vb, 0.0)) + kTiny));
  }

 private:
  static constexpr Eigen::Index kPiece = 4096;  // pixels: two sets of planes stay in the cache
  static constexpr Eigen::Index kRows = 12;     // planes of b at a time: more would meet planes that no overlap pairs
  Eigen::Index least_, n_;
  Eigen::VectorXd a_, aa_, b_, bb_;
  Eigen::MatrixXd ab_;
  float shift_a_ = 0, shift_b_ = 0;
  double pixels_ = 0;
};

Status Sums::add(const Tensor& a, const Tensor& b, const Tools& tools) {
  const std::uint64_t pixels = a.view().shape[1] * a.view().shape[2];
  const auto n = static_cast<std::uint32_t>(n_);
  std::vector<std::uint32_t> pairs;  // a with b, then a with itself and with ones, then b
  for (std::uint32_t q = 0; q < n; ++q)
    for (std::uint32_t p = q; p < n && p <= q + n - static_cast<std::uint32_t>(least_); ++p)
      pairs.push_back(p), pairs.push_back(q);
  std::vector<std::uint32_t> same;
  for (std::uint32_t p = 0; p < n; ++p) same.push_back(p), same.push_back(p);
  const auto sums = [&](const Tensor& x, const Tensor& y, const std::vector<std::uint32_t>& which, float shift_x,
                        float shift_y) -> Result<std::vector<double>> {
    constexpr std::uint64_t parts = stitch::PairSums::kParts;
    PENSTOCK_ASSIGN(const Numbers<std::uint32_t> there, Numbers<std::uint32_t>::make(which, tools.work));
    PENSTOCK_ASSIGN(const Numbers<double> made, Numbers<double>::make(which.size() / 2 * parts, tools.work));
    PENSTOCK_TRY(
        run_work(stitch::PairSums{static_cast<const float*>(x.view().data), static_cast<const float*>(y.view().data),
                                  there.at(), pixels, shift_x, shift_y, made.at()},
                 which.size() / 2 * parts, tools.work));
    PENSTOCK_ASSIGN(const std::vector<double> all, made.get(which.size() / 2 * parts, tools.work));
    std::vector<double> whole(which.size() / 2);
    for (std::size_t i = 0; i < all.size(); ++i) whole[i / parts] += all[i];
    return whole;
  };
  PENSTOCK_ASSIGN(const ColumnStatistics mean_a, column_statistics(a, tools));
  PENSTOCK_ASSIGN(const ColumnStatistics mean_b, column_statistics(b, tools));
  if (pixels_ == 0) {
    shift_a_ = View(mean_a.mean.data(), 1, static_cast<Eigen::Index>(pixels)).mean();
    shift_b_ = View(mean_b.mean.data(), 1, static_cast<Eigen::Index>(pixels)).mean();
  }
  PENSTOCK_ASSIGN(const std::vector<double> ab, sums(a, b, pairs, shift_a_, shift_b_));
  for (std::size_t i = 0; i < ab.size(); ++i) ab_(pairs[2 * i], pairs[2 * i + 1]) += ab[i];
  PENSTOCK_ASSIGN(const std::vector<double> aa, sums(a, a, same, shift_a_, shift_a_));
  PENSTOCK_ASSIGN(const std::vector<double> bb, sums(b, b, same, shift_b_, shift_b_));
  // (x - s)(x - s + 1) = (x - s)^2 + (x - s): the plain sums come of the same work.
  PENSTOCK_ASSIGN(const std::vector<double> a1, sums(a, a, same, shift_a_, shift_a_ - 1));
  PENSTOCK_ASSIGN(const std::vector<double> b1, sums(b, b, same, shift_b_, shift_b_ - 1));
  for (Eigen::Index p = 0; p < n_; ++p) {
    const auto i = static_cast<std::size_t>(p);
    aa_[p] += aa[i], bb_[p] += bb[i];
    a_[p] += a1[i] - aa[i], b_[p] += b1[i] - bb[i];
  }
  pixels_ += static_cast<double>(pixels);
  return {};
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
                                      static_cast<std::uint64_t>(most), call.device, call.options),
                       call.path(1));
  } else {
    done.metrics.warn("there is no overlap to look for; it is the expected one");
  }
  done.metrics.add("overlap", found.planes, "planes", "planes that the slices share");
  done.metrics.add("score", found.score, "", "mean product of normalised intensities there");
  done.metrics.note("device", call.device.name(), "where planes were multiplied");
  done.metrics.note("expected", expected, "planes, by the slicing interval");
  done.text = fmt::format("{} planes, score {:.4f} (expected {})\n", found.planes, found.score, expected);
  return done;
}

}  // namespace

Result<ZOverlap> best_z_overlap(const Volume& fixed, const Volume& moving, std::uint64_t least, std::uint64_t most,
                                Device device, const Options& options) {
  if (fixed.shape[1] != moving.shape[1] || fixed.shape[2] != moving.shape[2])
    return Error(ErrorCode::invalid_metadata, fmt::format("it has {}, the other {}: rows and columns must be the same",
                                                          to_string(moving.shape), to_string(fixed.shape)));
  const std::uint64_t height = fixed.shape[1], width = fixed.shape[2], margin = std::min(height, width) / 4;
  const Range cols = {margin, width - 2 * margin, 1};
  // Whole rows of chunks, so that none is decoded twice.
  const std::uint64_t chunk = std::max<std::uint64_t>(fixed.chunks[1], 1);
  Sums sums(least, most);
  const auto add_rows = [&](const Range& rows, const Tools& tools) -> Status {
    const Region in_a = {{fixed.shape[0] - most, most, 1}, rows, cols}, in_b = {{0, most, 1}, rows, cols};
    PENSTOCK_ASSIGN(const Tensor a, fixed.array.read(in_a, options, tools.work.stream));
    PENSTOCK_ASSIGN(const Tensor b, moving.array.read(in_b, options, tools.work.stream));
    if (tools.work.on_device()) return sums.add(a, b, tools);
    const auto planes = static_cast<Eigen::Index>(most), pixels = static_cast<Eigen::Index>(rows.count * cols.count);
    sums.add(View(static_cast<const float*>(a.view().data), planes, pixels),
             View(static_cast<const float*>(b.view().data), planes, pixels));
    return {};
  };
  const auto all_rows = [&](const Tools& tools) -> Status {
    for (std::uint64_t row = margin; row < height - margin;) {
      PENSTOCK_TRY(options.stop().check("oct find-z-overlap"));
      const std::uint64_t next = std::min((row / chunk + 1) * chunk, height - margin);
      PENSTOCK_TRY(add_rows({row, next - row, 1}, tools));
      row = next;
    }
    return {};
  };
  PENSTOCK_TRY(with_tools(device, "oct find-z-overlap", options, all_rows));
  ZOverlap best{least, -2};
  for (std::uint64_t o = least; o <= most; ++o)
    if (const double score = sums.score(o); score > best.score) best = {o, score};
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

#include "oct/align/plane_products.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "oct/align/kernel.hpp"

namespace penstock::oct {
namespace {

constexpr double kTiny = 1e-8;           // added to deviations
constexpr double kConstant = 1e-6;       // variance of a plane, of its squared mean
constexpr std::uint64_t kShare = 16384;  // pixels whose products are added in float32

using Planes =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0, Eigen::OuterStride<>>;

/// Sums of a share of the pixels.
struct Part {
  Eigen::MatrixXf ab;
  Eigen::VectorXf a, aa, b, bb;
};

}  // namespace

double PlaneSumsOfTwo::score_by_plane(std::uint64_t o) const {
  // Sums in float32 do not tell what varies less from what does not at all: such a plane says nothing.
  const auto varies = [](double variance, double mean) { return variance > kConstant * mean * mean; };
  double sum = 0;
  for (std::uint64_t i = 0; i < o; ++i) {
    const std::uint64_t k = planes - o + i;
    const double ma = a[k] / pixels, mb = b[i] / pixels, va = aa[k] / pixels - ma * ma, vb = bb[i] / pixels - mb * mb;
    if (std::isfinite(va + vb) && !(varies(va, ma) && varies(vb, mb))) continue;
    sum += (ab[k * planes + i] / pixels - ma * mb) /
           ((std::sqrt(std::max(va, 0.0)) + kTiny) * (std::sqrt(std::max(vb, 0.0)) + kTiny));
  }
  return sum / static_cast<double>(o);
}

double PlaneSumsOfTwo::score_as_one(std::uint64_t o) const {
  const double n = pixels * static_cast<double>(o);
  double sa = 0, saa = 0, sb = 0, sbb = 0, sab = 0;
  for (std::uint64_t i = 0; i < o; ++i) {
    const std::uint64_t k = planes - o + i;
    sa += a[k], saa += aa[k], sb += b[i], sbb += bb[i], sab += ab[k * planes + i];
  }
  const double ma = sa / n, mb = sb / n, va = saa / n - ma * ma, vb = sbb / n - mb * mb;
  return (sab / n - ma * mb) / ((std::sqrt(std::max(va, 0.0)) + kTiny) * (std::sqrt(std::max(vb, 0.0)) + kTiny));
}

Status ProductAdder::begin(const Workspace& work) {
  if (!on_device_) return {};
  const std::vector<double> zeros(sums_.planes * (sums_.planes + 4), 0);
  PENSTOCK_ASSIGN(there_, Numbers<double>::make(std::span(zeros), work));
  return {};
}

std::uint64_t ProductAdder::scratch_bytes(std::uint64_t pixels) const {
  const std::uint64_t n = sums_.planes, packed = 2 * 4 * n * pixels;
  return packed + (on_device_ ? 4 * align::kProductShares * n * (n + 2) : 4 * div_up(pixels, kShare) * n * (n + 4));
}

Status ProductAdder::add(const TensorView& box, const Workspace& work) {
  const std::uint64_t pixels = box.shape[1] * box.shape[2];
  Tensor held;
  PENSTOCK_ASSIGN(const TensorView packed, packed_here(box, held, work));
  const auto* const a = static_cast<const float*>(packed.data);
  const float* const b = a + sums_.planes * pixels;
  sums_.pixels += static_cast<double>(pixels);
  return on_device_ ? add_on_device(a, b, pixels, work) : add_on_host(a, b, pixels, work);
}

Status ProductAdder::add_on_host(const float* a, const float* b, std::uint64_t pixels, const Workspace& work) {
  const auto n = static_cast<Eigen::Index>(sums_.planes);
  std::vector<Part> parts(div_up(pixels, kShare));
  PENSTOCK_TRY(work.job->for_each(parts.size(), true, [&](std::uint64_t k) -> Status {
    const std::uint64_t first = k * kShare;
    const auto count = static_cast<Eigen::Index>(std::min(kShare, pixels - first));
    const Eigen::OuterStride<> stride(static_cast<Eigen::Index>(pixels));
    const Planes x(a + first, n, count, stride), y(b + first, n, count, stride);
    parts[k] = {x * y.transpose(), x.rowwise().sum(), x.rowwise().squaredNorm(), y.rowwise().sum(),
                y.rowwise().squaredNorm()};
    return {};
  }));
  for (const Part& part : parts)
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      sums_.a[k] += part.a[i], sums_.aa[k] += part.aa[i], sums_.b[k] += part.b[i], sums_.bb[k] += part.bb[i];
      for (Eigen::Index j = 0; j < n; ++j) sums_.ab[k * sums_.planes + static_cast<std::size_t>(j)] += part.ab(i, j);
    }
  return {};
}

Status ProductAdder::add_on_device(const float* a, const float* b, std::uint64_t pixels, const Workspace& work) {
  using align::AddShares;
  using align::kProductShares;
  const std::uint64_t n = sums_.planes;
  PENSTOCK_ASSIGN(const Numbers<float> shares, Numbers<float>::make(kProductShares * n * (n + 2), work));
  const align::PlaneProducts products{a, b, n, pixels, shares.at()};
  PENSTOCK_TRY(run_work(products, products.groups() * products.groups() * kProductShares, work));
  PENSTOCK_TRY(run_work(AddShares{shares.at(), there_.at()}, n * n, work));
  float* const sums = shares.at() + kProductShares * n * n;
  double* to = there_.at() + n * n;
  for (const float* const planes : {a, b}) {
    const align::PlaneSums of_planes{planes, n, pixels, sums, sums + kProductShares * n};
    PENSTOCK_TRY(run_work(of_planes, n * kProductShares, work));
    PENSTOCK_TRY(run_work(AddShares{sums, to}, 2 * n, work));
    to += 2 * n;
  }
  return work.stream.synchronize();
}

Status ProductAdder::end(const Workspace& work) {
  if (!on_device_) return {};
  PENSTOCK_ASSIGN(const std::vector<double> all, there_.get(there_.count(), work));
  auto from = all.begin();
  for (std::vector<double>* to : {&sums_.ab, &sums_.a, &sums_.aa, &sums_.b, &sums_.bb}) {
    const auto end = from + static_cast<std::ptrdiff_t>(to->size());
    std::copy(from, end, to->begin());
    from = end;
  }
  return {};
}

}  // namespace penstock::oct

#include "oct/align/plane_products.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "oct/kernels/run.hpp"

namespace penstock::oct {
namespace {

constexpr double kTiny = 1e-8;           // added to deviations
constexpr std::uint64_t kShare = 16384;  // pixels whose products are added in float32

using Planes =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0, Eigen::OuterStride<>>;

/// Sums of a share of the pixels.
struct Part {
  Eigen::MatrixXf ab;
  Eigen::VectorXf a, aa, b, bb;
};

}  // namespace

double PlaneSumsOfTwo::score(std::uint64_t o) const {
  const double n = pixels * static_cast<double>(o);
  double sa = 0, saa = 0, sb = 0, sbb = 0, sab = 0;
  for (std::uint64_t i = 0; i < o; ++i) {
    const std::uint64_t k = planes - o + i;
    sa += a[k], saa += aa[k], sb += b[i], sbb += bb[i], sab += ab[k * planes + i];
  }
  const double ma = sa / n, mb = sb / n, va = saa / n - ma * ma, vb = sbb / n - mb * mb;
  return (sab / n - ma * mb) / ((std::sqrt(std::max(va, 0.0)) + kTiny) * (std::sqrt(std::max(vb, 0.0)) + kTiny));
}

Status ProductAdder::begin() {
  if (!work_.on_device()) return {};
  const std::vector<double> zeros(sums_.planes * (sums_.planes + 4), 0);
  PENSTOCK_ASSIGN(on_device_, uploaded(zeros.data(), zeros.size(), work_));
  return work_.stream.synchronize();
}

std::uint64_t ProductAdder::scratch_bytes(std::uint64_t pixels) const {
  const std::uint64_t n = sums_.planes, packed = 2 * 4 * n * pixels;
  return packed + (work_.on_device() ? 4 * kProductShares * n * (n + 2) : 4 * div_up(pixels, kShare) * n * (n + 4));
}

Status ProductAdder::add(const TensorView& box, const Workspace& work) {
  const std::uint64_t pixels = box.shape[1] * box.shape[2];
  Tensor held;
  TensorView packed = box;
  if (!box.is_contiguous()) {
    PENSTOCK_ASSIGN(held, Tensor::empty(DType::float32(), box.shape, work.stream, work.memory));
    PENSTOCK_TRY(copy_elements(box, held.view()));
    packed = held.view();
  }
  const auto* const a = static_cast<const float*>(packed.data);
  const float* const b = a + sums_.planes * pixels;
  sums_.pixels += static_cast<double>(pixels);
  return work.on_device() ? add_on_device(a, b, pixels, work) : add_on_host(a, b, pixels, work);
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
  const std::uint64_t n = sums_.planes;
  PENSTOCK_ASSIGN(const auto shares, hold<float>(kProductShares * n * (n + 2), work));
  const PlaneProducts products{a, b, n, pixels, shares.data()};
  PENSTOCK_TRY(run_kernel(products, products.groups() * products.groups() * kProductShares, work));
  PENSTOCK_TRY(run_kernel(AddShares{shares.data(), on_device_.data()}, n * n, work));
  float* const sums = shares.data() + kProductShares * n * n;
  double* to = on_device_.data() + n * n;
  for (const float* const planes : {a, b}) {
    PENSTOCK_TRY(run_kernel(PlaneSums{planes, n, pixels, sums, sums + kProductShares * n}, n * kProductShares, work));
    PENSTOCK_TRY(run_kernel(AddShares{sums, to}, 2 * n, work));
    to += 2 * n;
  }
  return work.stream.synchronize();
}

Status ProductAdder::end() {
  if (!work_.on_device()) return {};
  const std::uint64_t n = sums_.planes;
  std::vector<double> all(n * (n + 4));
  PENSTOCK_TRY(download(on_device_.data(), all.size(), all.data(), work_));
  auto from = all.begin();
  for (std::vector<double>* to : {&sums_.ab, &sums_.a, &sums_.aa, &sums_.b, &sums_.bb}) {
    std::copy_n(from, to->size(), to->begin());
    from += static_cast<std::ptrdiff_t>(to->size());
  }
  return {};
}

}  // namespace penstock::oct

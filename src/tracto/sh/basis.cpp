#include "tracto/sh/basis.hpp"

#include <cmath>
#include <numbers>

namespace penstock::tracto {
namespace {

/// K P of degree l and order m >= 0 (with the phase (-1)^m), normalised so that high orders do not overflow.
class Legendre {
 public:
  Legendre(std::uint32_t order, double x) : order_(order), values_((order + 1) * (order + 1)) {
    const double s = std::sqrt(std::max(0.0, 1 - x * x));
    double diagonal = std::sqrt(1 / (4 * std::numbers::pi));
    for (std::uint32_t m = 0; m <= order; ++m) {
      if (m > 0) diagonal *= -s * std::sqrt((2.0 * m + 1) / (2.0 * m));
      at(m, m) = diagonal;
      if (m + 1 <= order) at(m + 1, m) = x * std::sqrt(2.0 * m + 3) * diagonal;
      for (std::uint32_t l = m + 2; l <= order; ++l) {
        const double ll = l, mm = m, a = std::sqrt((4 * ll * ll - 1) / (ll * ll - mm * mm));
        const double b = std::sqrt(((ll - 1) * (ll - 1) - mm * mm) / (4 * (ll - 1) * (ll - 1) - 1));
        at(l, m) = a * (x * at(l - 1, m) - b * at(l - 2, m));
      }
    }
  }
  double& at(std::uint32_t l, std::uint32_t m) { return values_[l * (order_ + 1) + m]; }

 private:
  std::uint32_t order_;
  std::vector<double> values_;
};

}  // namespace

std::uint32_t sh_degree(std::uint32_t index) {
  std::uint32_t degree = 0;
  while (sh_count(degree) <= index) degree += 2;
  return degree;
}

Eigen::MatrixXd sh_matrix(std::span<const Direction> directions, std::uint32_t order, ShBasis basis) {
  Eigen::MatrixXd out(static_cast<Eigen::Index>(directions.size()), sh_count(order));
  for (std::size_t i = 0; i < directions.size(); ++i) {
    const Direction& v = directions[i];
    const double phi = std::atan2(v[1], v[0]);
    Legendre p(order, std::min(1.0, std::max(-1.0, v[2])));
    Eigen::Index column = 0;
    for (std::uint32_t l = 0; l <= order; l += 2)
      for (std::int32_t m = -static_cast<std::int32_t>(l); m <= static_cast<std::int32_t>(l); ++m) {
        const std::int32_t mm = basis == ShBasis::tournier07 ? -m : m;
        const auto order_m = static_cast<std::uint32_t>(std::abs(mm));
        double value = p.at(l, order_m);
        if (mm < 0) value *= std::numbers::sqrt2 * std::cos(order_m * phi);
        if (mm > 0) value *= std::numbers::sqrt2 * std::sin(order_m * phi);
        if (basis == ShBasis::descoteaux07 && mm < 0 && order_m % 2 == 1) value = -value;
        out(static_cast<Eigen::Index>(i), column++) = value;
      }
  }
  return out;
}

}  // namespace penstock::tracto

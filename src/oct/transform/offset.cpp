#include "oct/transform/offset.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::oct {
namespace {

constexpr std::int64_t kFine = 6;          // pixels that one level looks through in each direction
constexpr std::int64_t kLeastShared = 16;  // pixels; fewer may fit by chance

/// Half the size: the mean of what is there.
Image halved(const Image& from) {
  Image to{from.rows / 2, from.cols / 2, {}};
  to.values.resize(to.rows * to.cols);
  for (std::uint64_t r = 0; r < to.rows; ++r)
    for (std::uint64_t c = 0; c < to.cols; ++c) {
      float sum = 0;
      bool all = true;
      for (std::uint64_t k = 0; k < 4; ++k) {
        const float v = from.at(2 * r + k / 2, 2 * c + k % 2);
        all = all && v != 0;
        sum += v;
      }
      to.values[r * to.cols + c] = all ? sum / 4 : 0;
    }
  return to;
}

/// Normalised correlation where both are measured; -2: they share too little, or it does not vary.
double correlation(const Image& a, const Image& b, std::int64_t row, std::int64_t col) {
  const auto ar = static_cast<std::int64_t>(a.rows), ac = static_cast<std::int64_t>(a.cols);
  const auto br = static_cast<std::int64_t>(b.rows), bc = static_cast<std::int64_t>(b.cols);
  const std::int64_t r0 = std::max<std::int64_t>(row, 0), r1 = std::min(ar, row + br);
  const std::int64_t c0 = std::max<std::int64_t>(col, 0), c1 = std::min(ac, col + bc);
  double n = 0, sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (std::int64_t r = r0; r < r1; ++r) {
    const float* const p = a.values.data() + r * ac;
    const float* const q = b.values.data() + (r - row) * bc - col;
    for (std::int64_t c = c0; c < c1; ++c) {
      const double u = p[c], v = q[c];
      if (u == 0 || v == 0 || !(u * v == u * v)) continue;
      n += 1, sa += u, sb += v, saa += u * u, sbb += v * v, sab += u * v;
    }
  }
  if (n < kLeastShared) return -2;
  const double va = saa - sa * sa / n, vb = sbb - sb * sb / n;
  if (!(va > 1e-9 * saa) || !(vb > 1e-9 * sbb)) return -2;
  return (sab - sa * sb / n) / std::sqrt(va * vb);
}

struct Whole {
  std::int64_t row = 0, col = 0;
  double score = -2;
};

Whole best_near(const Image& a, const Image& b, const Whole& guess, std::int64_t reach) {
  Whole best;
  for (std::int64_t r = guess.row - reach; r <= guess.row + reach; ++r)
    for (std::int64_t c = guess.col - reach; c <= guess.col + reach; ++c)
      if (const double score = correlation(a, b, r, c); score > best.score) best = {r, c, score};
  return best;
}

Whole search(const Image& a, const Image& b, const Whole& guess, std::int64_t reach) {
  if (reach <= kFine || std::min({a.rows, a.cols, b.rows, b.cols}) < 32) return best_near(a, b, guess, reach);
  const Whole coarse = search(halved(a), halved(b), {guess.row / 2, guess.col / 2, 0}, (reach + 1) / 2);
  if (coarse.score < -1) return coarse;
  return best_near(a, b, {2 * coarse.row, 2 * coarse.col, 0}, 3);
}

/// Of the parabola through three neighbours, from the middle one.
double fraction(double before, double here, double after) {
  const double curve = before - 2 * here + after;
  if (before < -1 || after < -1 || !(curve < 0)) return 0;
  return std::clamp(0.5 * (before - after) / curve, -0.5, 0.5);
}

}  // namespace

std::optional<Offset> find_offset(const Image& fixed, const Image& moving, const Offset& guess, std::uint64_t reach) {
  const Whole start{std::llround(guess.row), std::llround(guess.col), 0};
  const Whole best = search(fixed, moving, start, static_cast<std::int64_t>(reach));
  if (best.score < -1) return std::nullopt;
  const auto at = [&](std::int64_t r, std::int64_t c) {
    return correlation(fixed, moving, best.row + r, best.col + c);
  };
  return Offset{static_cast<double>(best.row) + fraction(at(-1, 0), best.score, at(1, 0)),
                static_cast<double>(best.col) + fraction(at(0, -1), best.score, at(0, 1)), best.score};
}

}  // namespace penstock::oct

#include "oct/raw/galvo.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace penstock::oct {
namespace {

constexpr std::uint64_t kJudges = 20;   // B-scans that are looked at
constexpr double kLeastIntensity = 10;  // about the band, for a B-scan to count
constexpr double kSignificant = 0.05;   // change of intensity in the band
constexpr double kFullDrop = 0.3;       // mean change that counts as certain

/// The middle of five neighbours, around the circle.
std::vector<double> median5(std::span<const double> p) {
  const std::size_t n = p.size();
  std::vector<double> out(n);
  for (std::size_t x = 0; x < n; ++x) {
    std::array<double, 5> window = {};
    for (std::size_t k = 0; k < 5; ++k) window[k] = p[(x + k + 2 * n - 2) % n];
    std::nth_element(window.begin(), window.begin() + 2, window.end());
    out[x] = window[2];
  }
  return out;
}

/// The change of intensity in the band of one B-scan, of its surroundings; 0 where these are dark.
double change_in(std::span<const float> lines, std::size_t band, std::size_t n_extra) {
  const std::size_t n = lines.size();
  double inside = 0, around = 0;
  for (std::size_t k = 0; k < n_extra; ++k) {
    inside += lines[(band + k) % n];
    around += lines[(band + n_extra + k) % n] + lines[(band + 2 * n - 1 - k) % n];
  }
  around /= 2;
  if (around < kLeastIntensity * static_cast<double>(n_extra)) return 0;
  return 1 - inside / around;
}

}  // namespace

GalvoShift find_galvo_shift(std::span<const double> profile, std::span<const float> columns, std::uint64_t n_extra) {
  const std::size_t n = profile.size();
  if (n_extra == 0 || n <= 2 * n_extra) return {};
  const std::vector<double> p = median5(profile);
  const auto step = [&](std::size_t x) { return p[(x + 1) % n] - p[x % n]; };  // between line x and the next
  std::size_t before = 0;                                                      // the line before the band
  double best = -1;
  for (std::size_t x = 0; x < n; ++x) {
    const double score = -step(x) * step(x + n_extra);
    if (score > best) best = score, before = x;
  }
  const std::size_t band = (before + 1) % n;
  GalvoShift found{(2 * n - band - n_extra) % n, 0};
  const std::size_t scans = columns.size() / n, every = std::max<std::size_t>(scans / kJudges, 1);
  double judged = 0, down = 0, significant = 0, sum = 0;
  for (std::size_t y = 0; y < scans; y += every) {
    const double change = change_in(columns.subspan(y * n, n), band, n_extra);
    if (change == 0) continue;
    judged += 1;
    down += change > 0 ? 1 : 0;
    significant += std::abs(change) >= kSignificant ? 1 : 0;
    sum += change;
  }
  if (judged == 0) return found;
  const double consistency = std::max(down, judged - down) / judged;
  found.confidence =
      0.40 * consistency + 0.35 * significant / judged + 0.25 * std::min(std::abs(sum / judged) / kFullDrop, 1.0);
  if (consistency < 0.75) found.confidence *= 0.3;  // as good as by chance
  return found;
}

}  // namespace penstock::oct

#include "tracto/gradients/gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

#include "store/posix.hpp"

namespace penstock::tracto {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;
constexpr double kUnitTolerance = 1e-2;

Error invalid(std::string text) { return {ErrorCode::invalid_metadata, std::move(text)}; }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == ',' || c == '\f' || c == '\v'; }

/// A whole word as a number; NaN and infinity are numbers here.
bool number_of(std::string_view word, double& value) {
  if (word.starts_with('+')) word.remove_prefix(1);
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  return code == std::errc() && end == word.data() + word.size();
}

Result<std::vector<double>> parse_row(std::string_view line, std::size_t number) {
  std::vector<double> row;
  for (std::size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && !is_blank(line[end])) ++end;
    double value = 0;
    if (!number_of(line.substr(at, end - at), value))
      return invalid(
          fmt::format("line {}: '{}' is no number", number, line.substr(at, std::min<std::size_t>(end - at, 40))));
    row.push_back(value);
    at = end;
  }
  return row;
}

Result<std::vector<double>> b_values(std::string_view text) {
  PENSTOCK_ASSIGN(const auto rows, parse_rows(text));
  std::vector<double> b;
  for (const auto& row : rows) b.insert(b.end(), row.begin(), row.end());
  if (rows.size() > 1 && rows.size() != b.size()) return invalid("the b values must stand in one row or one column");
  for (std::size_t i = 0; i < b.size(); ++i)
    if (!(b[i] >= 0) || !std::isfinite(b[i])) return invalid(fmt::format("b value {} is {}", i, b[i]));
  return b;
}

Result<std::vector<std::array<double, 3>>> b_vectors(std::string_view text) {
  PENSTOCK_ASSIGN(const auto rows, parse_rows(text));
  std::vector<std::array<double, 3>> out;
  const bool across = rows.size() == 3 && rows[0].size() == rows[1].size() && rows[0].size() == rows[2].size();
  if (across) {
    for (std::size_t i = 0; i < rows[0].size(); ++i) out.push_back({rows[0][i], rows[1][i], rows[2][i]});
    return out;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != 3)
      return invalid(fmt::format("the vectors must be 3 rows, or rows of 3 numbers; row {} has {}", i, rows[i].size()));
    out.push_back({rows[i][0], rows[i][1], rows[i][2]});
  }
  return out;
}

}  // namespace

std::vector<std::uint32_t> unweighted_volumes(const Gradients& g) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < g.size(); ++i)
    if (g.unweighted[i]) out.push_back(static_cast<std::uint32_t>(i));
  return out;
}

std::size_t Gradients::weighted() const {
  return static_cast<std::size_t>(std::count(unweighted.begin(), unweighted.end(), false));
}

Result<std::vector<std::vector<double>>> parse_rows(std::string_view text) {
  if (text.size() > kMaxTextBytes) return invalid("more than 16 MiB of text");
  std::vector<std::vector<double>> rows;
  for (std::size_t at = 0, number = 1; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    PENSTOCK_ASSIGN(std::vector<double> row, parse_row(text.substr(at, end - at), number));
    if (!row.empty()) rows.push_back(std::move(row));
    at = end + 1;
  }
  return rows;
}

Result<Gradients> make_gradients(std::string_view bval, std::string_view bvec, std::uint64_t volumes,
                                 double b0_threshold) {
  Gradients g;
  PENSTOCK_ASSIGN_IN(g.b, b_values(bval), "bval");
  PENSTOCK_ASSIGN_IN(g.vector, b_vectors(bvec), "bvec");
  if (g.b.size() != volumes || g.vector.size() != volumes)
    return invalid(fmt::format("{} volumes, {} b values, {} vectors: the numbers must be equal", volumes, g.b.size(),
                               g.vector.size()));
  g.unweighted.resize(g.size());
  for (std::size_t i = 0; i < g.size(); ++i) {
    auto& v = g.vector[i];
    g.unweighted[i] = g.b[i] <= b0_threshold;
    const double norm = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (g.unweighted[i] && !(std::abs(norm - 1) <= kUnitTolerance)) {
      v = {0, 0, 0};
      continue;
    }
    if (!(std::abs(norm - 1) <= kUnitTolerance))
      return invalid(
          fmt::format("bvec: vector {} ({}, {}, {}) of b value {} is not of unit length", i, v[0], v[1], v[2], g.b[i]));
    for (double& x : v) x /= norm;
  }
  if (g.weighted() == 0) return invalid(fmt::format("bval: no b value above {}: nothing is weighted", b0_threshold));
  if (g.weighted() == g.size())
    return invalid(fmt::format("bval: no b value of at most {}: an unweighted volume is needed", b0_threshold))
        .set_hint("--b0-threshold says up to which b value a volume counts as unweighted.");
  return g;
}

void to_voxel_axes(Gradients& g, GradientFrame frame, const Affine& world_from_voxel) {
  const auto& m = world_from_voxel.rows;
  const double det =
      m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) + m[2] * (m[4] * m[9] - m[5] * m[8]);
  for (auto& v : g.vector) {
    if (frame == GradientFrame::fsl && det > 0) v[0] = -v[0];
    if (frame != GradientFrame::world) continue;
    const std::array<double, 3> world = v;
    double norm = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const double x = m[d], y = m[4 + d], z = m[8 + d], size = std::sqrt(x * x + y * y + z * z);
      v[d] = (x * world[0] + y * world[1] + z * world[2]) / size;
      norm += v[d] * v[d];
    }
    for (double& x : v) x = norm > 0 ? x / std::sqrt(norm) : 0;
  }
}

Result<std::string> read_text(const std::string& path) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (!file) return errno_error(errno, path);
  std::string text(kMaxTextBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return errno_error(errno, path);
  if (text.size() > kMaxTextBytes) return invalid(path + ": more than 16 MiB: this is no file of gradients");
  return text;
}

std::vector<Shell> shells(const Gradients& g) {
  double most = 0;
  for (const double b : g.b) most = std::max(most, b);
  const double unit = most > 0 ? std::pow(10.0, std::floor(std::log10(most)) - 1) : 1;
  std::map<double, Shell> by_b;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (g.unweighted[i]) continue;
    const double b = std::round(g.b[i] / unit) * unit;
    by_b[b].b = b;
    by_b[b].volumes.push_back(i);
  }
  std::vector<Shell> out;
  for (auto& [b, shell] : by_b) out.push_back(std::move(shell));
  return out;
}

}  // namespace penstock::tracto

#include "oct/simulate/subject.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oct/simulate/noise.hpp"

namespace penstock::oct {
namespace {

constexpr double kIntensity = 400;  // of a reflectivity of 1
constexpr float kSaturated = 65535;
constexpr double kBackground = 0.02;  // reflectivity of water
constexpr double kAgarose = 0.22;
constexpr double kAttenuation = 0.009;  // of a plane, one way
constexpr double kJitter = 0.25;        // pixels, either way
constexpr double kRoughness = 0.4;      // planes
constexpr double kFlatBow = 0.22;       // of the illumination, centre to corner

/// What a number is drawn for: draws of one purpose never depend on those of another.
enum class Draw : std::uint64_t {
  step,
  skew,
  shift,
  surface,
  tilt,
  gain,
  galvo,
  jitter,
  rough,
  coarse,
  fine,
  speckle,
  focal
};

/// In [-1, 1).
double draw(std::uint64_t seed, Draw purpose, std::uint64_t a = 0, std::uint64_t b = 0) {
  return 2 * unit(mixed(seed, static_cast<std::uint64_t>(purpose), a, b)) - 1;
}

double square(double x) { return x * x; }

}  // namespace

const SubjectSize* find_size(std::string_view name) {
  const auto* const it = std::ranges::find(kSubjectSizes, name, &SubjectSize::name);
  return it == std::end(kSubjectSizes) ? nullptr : it;
}

Subject Subject::make(const SubjectSize& size, std::uint64_t seed) {
  Subject s{size, seed, {}, 0, {}};
  const double step = 0.8 * static_cast<double>(size.tile), off = static_cast<double>(size.tile) / 64;
  s.tiles.m = {step + 1.5 * off * draw(seed, Draw::step, 0), 0.6 * off * draw(seed, Draw::skew, 0),
               0.6 * off * draw(seed, Draw::skew, 1), step + 1.5 * off * draw(seed, Draw::step, 1)};
  s.focal = 0.8 + 0.4 * draw(seed, Draw::focal);
  double row = 0, col = 0;
  for (std::uint64_t k = 0; k < size.slices; ++k) {
    SubjectSlice slice;
    slice.row = row, slice.col = col;
    slice.surface = 6.2 + 0.8 * draw(seed, Draw::surface, k);
    slice.tilt_row = 1.2 * draw(seed, Draw::tilt, k, 0);
    slice.tilt_col = 1.2 * draw(seed, Draw::tilt, k, 1);
    slice.gain = 1 + 0.03 * draw(seed, Draw::gain, k);
    slice.planes = size.planes;
    slice.galvo_shift = mixed(seed, static_cast<std::uint64_t>(Draw::galvo), k) % (size.tile + size.n_extra);
    s.slices.push_back(slice);
    row += size.reach * draw(seed, Draw::shift, k, 0);
    col += size.reach * draw(seed, Draw::shift, k, 1);
  }
  return s;
}

double Subject::tile_row(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const {
  return tiles.row(i, j) + kJitter * draw(seed, Draw::jitter, slice, 2 * (i * 1000 + j));
}
double Subject::tile_col(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const {
  return tiles.col(i, j) + kJitter * draw(seed, Draw::jitter, slice, 2 * (i * 1000 + j) + 1);
}

double Subject::extent_rows() const { return static_cast<double>(size.tile) + tiles.row(size.rows - 1, size.cols - 1); }
double Subject::extent_cols() const { return static_cast<double>(size.tile) + tiles.col(size.rows - 1, size.cols - 1); }

double Subject::agarose(double plane, double row, double col) const {
  const std::uint64_t coarse = mixed(seed, static_cast<std::uint64_t>(Draw::coarse));
  return kAgarose * (0.85 + 0.3 * smooth_noise(coarse + 1, plane / 7, row / 3, col / 3));
}

std::uint64_t Subject::odd_tile(std::uint64_t slice) const { return mixed(seed, 78, slice) % (size.rows * size.cols); }

bool Subject::has_tile(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const {
  if ((i == 0 || i + 1 == size.rows) && (j == 0 || j + 1 == size.cols)) return true;
  const std::uint64_t count = size.rows * size.cols, first = mixed(seed, 77, slice) % count;
  return (i * size.cols + j + count - first) % count >= missing_tiles;
}

double Subject::reflectivity(double plane, double row, double col) const {
  // An ellipsoid that is cut open at the first plane, in a block of agarose.
  const double height = 1.4 * static_cast<double>(size.interval * (size.slices - 1) + size.planes);
  const double rows = 0.5 * extent_rows(), cols = 0.5 * extent_cols();
  const double distance =
      std::sqrt(square((row - rows) / (0.98 * rows)) + square((col - cols) / (0.98 * cols)) + square(plane / height));
  const double inside = std::clamp((1 - distance) / 0.06, 0.0, 1.0);
  const std::uint64_t coarse = mixed(seed, static_cast<std::uint64_t>(Draw::coarse));
  const double around = inside == 1 ? 0 : agarose(plane, row, col);
  if (inside == 0) return around;
  const double a = smooth_noise(coarse, plane / 16, row / 8, col / 8);
  const double b = smooth_noise(mixed(seed, static_cast<std::uint64_t>(Draw::fine)), plane / 6, row / 3.1, col / 3.1);
  const double tissue = 0.35 + 0.7 * square(a) + 0.5 * square(b);
  return inside * tissue + (1 - inside) * around;
}

double Subject::cut(std::uint64_t slice, double row, double col) const {
  const SubjectSlice& s = slices[slice];
  const double rough =
      kRoughness *
      (smooth_noise(mixed(seed, static_cast<std::uint64_t>(Draw::rough), slice), 0, row / 12, col / 12) - 0.5);
  return s.surface + s.tilt_row * (row / extent_rows() - 0.5) + s.tilt_col * (col / extent_cols() - 0.5) + rough;
}

double Subject::surface(std::uint64_t slice, std::uint64_t i, std::uint64_t j, double r, double c) const {
  return cut(slice, tile_row(slice, i, j) + r, tile_col(slice, i, j) + c) + bowl(r, c);
}

double Subject::bowl(double r, double c) const {
  const double side = static_cast<double>(size.tile);
  const double u = r / (side - 1) - 0.5, v = c / (side - 1) - 0.5;
  return focal * (2 * (u * u + v * v) - 1.0 / 3);  // mean 0 over the tile
}

double Subject::light(std::uint64_t slice, std::uint64_t plane, double top, double row, double col) const {
  const SubjectSlice& s = slices[slice];
  const double depth = static_cast<double>(plane) - top;     // planes below the surface
  const double covered = std::clamp(depth + 0.5, 0.0, 1.0);  // part of the voxel that is tissue
  if (covered == 0) return kBackground;
  const double below = std::max(depth, 0.0), at = static_cast<double>(slice * size.interval) + below;
  const double back = s.agarose ? agarose(at, s.row + row, s.col + col) : reflectivity(at, s.row + row, s.col + col);
  const double focus = 1 / (square((below - 15) / 60) + 1);
  return kBackground + covered * back * std::exp(-2 * kAttenuation * below) * focus * s.gain;
}

double Subject::flat(double r, double c) const {
  const double side = static_cast<double>(size.tile);
  const double u = r / (side - 1) - 0.5, v = c / (side - 1) - 0.5;
  return 1 - kFlatBow * (2 * (u * u + v * v) - 1.0 / 3) + 0.1 * u - 0.06 * v + 0.03 * std::sin(3 * u) * std::cos(2 * v);
}

std::vector<float> Subject::make_tile(std::uint64_t slice, std::uint64_t i, std::uint64_t j) const {
  const std::uint64_t n = size.tile, grains = mixed(seed, static_cast<std::uint64_t>(Draw::speckle));
  const std::uint64_t number = (slice * size.rows + i) * size.cols + j;
  const SubjectSlice& s = slices[slice];
  const bool odd = i * size.cols + j == odd_tile(slice);
  std::vector<float> tile(s.planes * n * n);
  if (odd && empty_tile) return tile;
  for (std::uint64_t r = 0; r < n; ++r)
    for (std::uint64_t c = 0; c < n; ++c) {
      const auto row = static_cast<double>(r), col = static_cast<double>(c);
      const double top = surface(slice, i, j, row, col), bright = kIntensity * flat(row, col);
      const double at_row = tile_row(slice, i, j) + row, at_col = tile_col(slice, i, j) + col;
      for (std::uint64_t z = 0; z < s.planes; ++z) {
        const std::uint64_t place = (z * n + r) * n + c;
        const double grain = speckle(grains, number * size.planes * n * n + place);
        tile[place] = static_cast<float>(bright * light(slice, z, top, at_row, at_col) * grain);
      }
    }
  if (odd && saturated) tile[(s.planes / 2 * n + n / 2) * n + n / 3] = kSaturated;
  if (odd && no_numbers)
    for (std::uint64_t z = 0; z < s.planes; ++z)
      tile[(z * n + n / 3) * n + n / 2] = std::numeric_limits<float>::quiet_NaN();
  return tile;
}

Json Subject::truth() const {
  Json out = Json::object();
  out["size"] = size.name;
  out["seed"] = seed;
  out["resolution_mm"] = kResolutionMm;
  out["interval_planes"] = size.interval;
  out["grid"] = {size.rows, size.cols};
  out["tile"] = size.tile;
  out["transform"] = tiles.m;
  out["focal_planes"] = focal;
  out["traps"] = traps;
  Json list = Json::array();
  for (std::uint64_t k = 0; k < slices.size(); ++k) {
    const SubjectSlice& s = slices[k];
    Json positions = Json::array();
    for (std::uint64_t i = 0; i < size.rows; ++i)
      for (std::uint64_t j = 0; j < size.cols; ++j) positions.push_back({tile_row(k, i, j), tile_col(k, i, j)});
    list.push_back({{"id", k},
                    {"row", s.row},
                    {"column", s.col},
                    {"surface", s.surface},
                    {"gain", s.gain},
                    {"galvo_shift", s.galvo_shift},
                    {"planes", s.planes},
                    {"agarose", s.agarose},
                    {"missing", s.missing},
                    {"tile_positions", positions}});
  }
  out["slices"] = list;
  return out;
}

}  // namespace penstock::oct

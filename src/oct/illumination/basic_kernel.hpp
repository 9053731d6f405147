// What the BaSiC solver does with pixels, written once for every processor.
//
// A plane holds `tiles` images of `pixels` each; planes that are solved already are left out: `active[a]` says which
// plane is the a-th that is worked on.  Sums over the pixels of an image are kept as kLanes parts, those over tiles are
// of one pixel: the same sums in the same order wherever they are made.
#pragma once
#include <cmath>
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::oct::basic {

inline constexpr std::uint32_t kLanes = 64;  ///< parts of a sum over pixels

/// The planes that are worked on.
struct Planes {
  const std::uint32_t* active = nullptr;
  std::uint64_t count = 0;  ///< of `active`
  std::uint64_t tiles = 0, pixels = 0;

  [[nodiscard]] PENSTOCK_HD std::uint64_t image(std::uint64_t a, std::uint64_t n) const {
    return (active[a] * tiles + n) * pixels;
  }
};

/// One task of a sum over the pixels of image (a, n): lanes [first, first + kWidth) of it.
template <int kWidth>
struct ImageLanes {
  std::uint64_t a, n, first;
  PENSTOCK_HD ImageLanes(std::uint64_t i, const Planes& planes)
      : a(i / (kLanes / kWidth) / planes.tiles),
        n(i / (kLanes / kWidth) % planes.tiles),
        first(i % (kLanes / kWidth) * kWidth) {}
  /// Where the parts of the sum go.
  [[nodiscard]] PENSTOCK_HD std::uint64_t sums(const Planes& planes) const {
    return (a * planes.tiles + n) * kLanes + first;
  }
};
template <int kWidth>
PENSTOCK_HD std::uint64_t image_lanes(const Planes& planes) {
  return planes.count * planes.tiles * (kLanes / kWidth);
}
/// f(lane, pixel) for all pixels of a task.
template <int kWidth, class F>
PENSTOCK_HD void each_pixel(std::uint64_t first, std::uint64_t pixels, const F& f) {
  for (std::uint64_t x = first; x < pixels; x += kLanes) {
    if (x + kWidth <= pixels)
      for (int w = 0; w < kWidth; ++w) f(w, x + w);
    else
      for (int w = 0; x + w < pixels; ++w) f(w, x + w);
  }
}

/// What stands out of an image beyond its part of the field: what is more than a threshold is kept.  Sums what is left.
struct Shrink {
  Planes planes;
  const float* images;
  const float* multipliers;
  const float* weights;
  const float* field;       ///< (planes, pixels)
  const float* brightness;  ///< (planes, tiles)
  const float* by_penalty;  ///< of each plane 1 / mu
  const float* by_weight;   ///< of each plane: the mean of weights becomes 1
  float* residue;
  float* sums;  ///< (count, tiles, kLanes): of image less residue

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const {
    return planes.count * planes.tiles * (kLanes / static_cast<std::uint32_t>(width));
  }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const ImageLanes<kWidth> task(i, planes);
    const std::uint64_t plane = planes.active[task.a], begin = planes.image(task.a, task.n);
    const float* const in = images + begin;
    const float* const y = multipliers + begin;
    const float* const weight = weights + begin;
    const float* const s = field + plane * planes.pixels;
    float* const out = residue + begin;
    const float b = brightness[plane * planes.tiles + task.n], by = by_penalty[plane], w_by = by_weight[plane] * by;
    float sum[kWidth] = {};
    each_pixel<kWidth>(task.first, planes.pixels, [&](int w, std::uint64_t x) {
      const float v = in[x] - b * s[x] + y[x] * by;
      const float limit = weight[x] * w_by;
      const float more = v - limit, less = v + limit;
      const float kept = more > 0 ? more : less < 0 ? less : 0.0F;
      out[x] = kept;
      sum[w] += in[x] - kept;
    });
    for (int w = 0; w < kWidth; ++w) sums[task.sums(planes) + static_cast<std::uint64_t>(w)] = sum[w];
  }
};

/// Multipliers grow by what no term explains; and what the field must become, before it is smoothed: (count, pixels).
struct Update {
  Planes planes;
  const float* images;
  const float* residue;
  const float* field;
  const float* brightness;  ///< that the residue was found with
  const float* brighter;    ///< that goes with the residue
  const float* penalty;     ///< mu of each plane; 0: begin
  const float* by_penalty;  ///< 1 / the next mu
  float* multipliers;
  float* wanted;   ///< (count, pixels)
  float* squares;  ///< (count, pixels): of what no term explains

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const {
    const auto w = static_cast<std::uint64_t>(width);
    return planes.count * ((planes.pixels + w - 1) / w);
  }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const std::uint64_t groups = (planes.pixels + kWidth - 1) / kWidth;
    const std::uint64_t a = i / groups, x0 = i % groups * kWidth, plane = planes.active[a];
    if (x0 + kWidth <= planes.pixels)
      strip<kWidth>(a, plane, x0, kWidth);
    else
      strip<kWidth>(a, plane, x0, static_cast<int>(planes.pixels - x0));
  }

 private:
  template <int kWidth>
  PENSTOCK_HD void strip(std::uint64_t a, std::uint64_t plane, std::uint64_t x0, int width) const {
    const float* const s = field + plane * planes.pixels + x0;
    const float mu = penalty[plane], by = by_penalty[plane];
    float sum[kWidth] = {}, square[kWidth] = {};
    for (std::uint64_t n = 0; n < planes.tiles; ++n) {
      const std::uint64_t begin = planes.image(a, n) + x0;
      const float* const in = images + begin;
      const float* const r = residue + begin;
      float* const y = multipliers + begin;
      const float b = brightness[plane * planes.tiles + n], next = brighter[plane * planes.tiles + n];
      for (int w = 0; w < width; ++w) {
        const float more = in[w] - r[w], left = more - b * s[w];
        const float grown = y[w] + mu * left;
        y[w] = grown;
        square[w] += left * left;
        sum[w] += more - next * s[w] + grown * by;
      }
    }
    const std::uint64_t to = a * planes.pixels + x0;
    for (int w = 0; w < width; ++w) {
      wanted[to + static_cast<std::uint64_t>(w)] = s[w] + sum[w] / static_cast<float>(planes.tiles);
      squares[to + static_cast<std::uint64_t>(w)] = square[w];
    }
  }
};

/// Sums kLanes parts of image (a, n): index (count, tiles).
struct Total {
  const float* parts;
  double* totals;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    double sum = 0;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(parts[i * kLanes + lane]);
    totals[i] = sum;
  }
};

/// How bright each image is, of the mean of its plane: index (count, tiles).
struct Brightness {
  Planes planes;
  const double* totals;
  float* brightness;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t a = i / planes.tiles, n = i % planes.tiles;
    double sum = 0;
    for (std::uint64_t k = 0; k < planes.tiles; ++k) sum += totals[a * planes.tiles + k];
    const double mean = sum / static_cast<double>(planes.tiles);
    const double b = mean > 0 ? totals[i] / mean : 0;
    brightness[planes.active[a] * planes.tiles + n] = b > 0 ? static_cast<float>(b) : 0.0F;
  }
};

/// Parts of the sum over the pixels of a field: index (count, kLanes).
struct FieldSums {
  const float* in;
  const std::uint32_t* active;  ///< nullptr: the a-th field is that of the a-th plane
  std::uint64_t pixels;
  bool absolute;
  double* sums;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t a = i / kLanes;
    const float* const f = in + (active == nullptr ? a : active[a]) * pixels;
    double sum = 0;
    for (std::uint64_t x = i % kLanes; x < pixels; x += kLanes) {
      const auto v = static_cast<double>(f[x]);
      sum += absolute && v < 0 ? -v : v;
    }
    sums[i] = sum;
  }
};

/// Coefficients of cosines, towards 0: index (count, pixels).
struct Threshold {
  Planes planes;
  const float* limit;  ///< of each plane
  const float* by_penalty;
  float* coefficients;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t plane = planes.active[i / planes.pixels];
    const float t = limit[plane] * by_penalty[plane], v = coefficients[i];
    coefficients[i] = v > t ? v - t : v < -t ? v + t : 0.0F;
  }
};

/// Fields of the planes that are worked on go to their place: index (count, pixels).
struct Scatter {
  Planes planes;
  const float* from;
  float* field;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    field[planes.active[i / planes.pixels] * planes.pixels + i % planes.pixels] = from[i];
  }
};

/// The brightness that was found becomes that which is gone by: index (count, tiles).
struct Adopt {
  Planes planes;
  const float* from;
  float* to;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t image = planes.active[i / planes.tiles] * planes.tiles + i % planes.tiles;
    to[image] = from[image];
  }
};

/// Those of some fields that are still needed: index (count, pixels).
struct Gather {
  const float* from;
  const std::uint32_t* which;
  std::uint64_t pixels;
  float* to;
  PENSTOCK_HD void operator()(std::uint64_t i) const { to[i] = from[which[i / pixels] * pixels + i % pixels]; }
};

/// Weights for the next round: what stood out counts less.
struct Reweight {
  Planes planes;
  const float* residue;
  const float* by_mean;  ///< of each image: 1 / the mean of what its field explains
  float epsilon;
  float* weights;
  float* sums;  ///< (count, tiles, kLanes)

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const {
    return planes.count * planes.tiles * (kLanes / static_cast<std::uint32_t>(width));
  }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const ImageLanes<kWidth> task(i, planes);
    const float* const r = residue + planes.image(task.a, task.n);
    float* const out = weights + planes.image(task.a, task.n);
    const float by = by_mean[planes.active[task.a] * planes.tiles + task.n];
    float sum[kWidth] = {};
    each_pixel<kWidth>(task.first, planes.pixels, [&](int w, std::uint64_t x) {
      const float relative = r[x] * by;
      const float weight = 1.0F / ((relative < 0 ? -relative : relative) + epsilon);
      out[x] = weight;
      sum[w] += weight;
    });
    for (int w = 0; w < kWidth; ++w) sums[task.sums(planes) + static_cast<std::uint64_t>(w)] = sum[w];
  }
};

/// How much a field, brought to mean 1, differs from the last one, which it replaces: index (count, kLanes).
struct Change {
  Planes planes;
  const float* field;
  const float* by_mean;  ///< of each plane
  float* last;           ///< (planes, pixels)
  double* change;        ///< (count, kLanes)
  double* size;          ///< (count, kLanes): of the last one
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t plane = planes.active[i / kLanes], begin = plane * planes.pixels;
    double changed = 0, sum = 0;
    for (std::uint64_t x = i % kLanes; x < planes.pixels; x += kLanes) {
      const float now = field[begin + x] * by_mean[plane], before = last[begin + x];
      changed += static_cast<double>(now > before ? now - before : before - now);
      sum += static_cast<double>(before < 0 ? -before : before);
      last[begin + x] = now;
    }
    change[i] = changed;
    size[i] = sum;
  }
};

/// Products of images with one image a plane, in parts.
struct Project {
  Planes planes;
  const float* images;
  const float* direction;  ///< (count, pixels)
  float* sums;             ///< (count, tiles, kLanes)

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const {
    return planes.count * planes.tiles * (kLanes / static_cast<std::uint32_t>(width));
  }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const ImageLanes<kWidth> task(i, planes);
    const float* const in = images + planes.image(task.a, task.n);
    const float* const d = direction + task.a * planes.pixels;
    float sum[kWidth] = {};
    each_pixel<kWidth>(task.first, planes.pixels, [&](int w, std::uint64_t x) { sum[w] += in[x] * d[x]; });
    for (int w = 0; w < kWidth; ++w) sums[task.sums(planes) + static_cast<std::uint64_t>(w)] = sum[w];
  }
};

/// The sum of a plane's images, each times its number.
struct Combine {
  Planes planes;
  const float* images;
  const float* numbers;  ///< (count, tiles)
  float* direction;      ///< (count, pixels)

  [[nodiscard]] PENSTOCK_HD std::uint64_t count(int width) const {
    const auto w = static_cast<std::uint64_t>(width);
    return planes.count * ((planes.pixels + w - 1) / w);
  }
  PENSTOCK_HD void operator()(std::uint64_t i) const { at<1>(i); }
  template <int kWidth>
  PENSTOCK_HD void at(std::uint64_t i) const {
    const std::uint64_t groups = (planes.pixels + kWidth - 1) / kWidth, a = i / groups, x0 = i % groups * kWidth;
    const std::uint64_t left = planes.pixels - x0;
    const int width = left < kWidth ? static_cast<int>(left) : kWidth;
    float sum[kWidth] = {};
    for (std::uint64_t n = 0; n < planes.tiles; ++n) {
      const float* const in = images + planes.image(a, n) + x0;
      const float by = numbers[a * planes.tiles + n];
      for (int w = 0; w < width; ++w) sum[w] += in[w] * by;
    }
    for (int w = 0; w < width; ++w) direction[a * planes.pixels + x0 + static_cast<std::uint64_t>(w)] = sum[w];
  }
};

}  // namespace penstock::oct::basic

#define PENSTOCK_OCT_BASIC_JOBS(M) \
  M(basic::Shrink)                 \
  M(basic::Update)                 \
  M(basic::Total)                  \
  M(basic::Brightness)             \
  M(basic::FieldSums)              \
  M(basic::Threshold)              \
  M(basic::Scatter)                \
  M(basic::Gather)                 \
  M(basic::Adopt)                  \
  M(basic::Reweight)               \
  M(basic::Change)                 \
  M(basic::Project)                \
  M(basic::Combine)

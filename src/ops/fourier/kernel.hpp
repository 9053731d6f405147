// Fourier and cosine transforms along an axis of (outer, n, inner), for devices: one butterfly at a time.
//
// A transform of n = r1 r2 ... is a pass for each factor, from one memory to another, which leaves the frequencies in
// order (Stockham).  Factors of 4 and 2 have their sums written out, others are sums of as many terms as they say:
// lengths with a large prime factor take time in proportion to it.
//
// Lines that fit into shared memory are transformed there by a team (transform_tile); of longer ones every pass goes
// through the memory of the device (Pass).  The CPU has loops of its own (loops.hpp), of the same arithmetic.
#pragma once
#include <cmath>
#include <cstdint>

#include "device/portable.hpp"
#include "ops/divide.hpp"
#include "penstock/region.hpp"

namespace penstock::fourier {

template <class C>
struct Complex {
  C re, im;
};
template <class C>
PENSTOCK_HD Complex<C> operator+(Complex<C> a, Complex<C> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class C>
PENSTOCK_HD Complex<C> operator-(Complex<C> a, Complex<C> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class C>
PENSTOCK_HD Complex<C> operator*(Complex<C> a, Complex<C> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class C>
PENSTOCK_HD Complex<C> conjugate(Complex<C> a) {
  return {a.re, -a.im};
}

/// How a line is transformed.
template <class C>
struct Plan {
  const Complex<C>* roots = nullptr;  ///< exp(-2 pi i k / n), n of them
  std::uint32_t n = 1;
  bool inverse = false;
  std::uint32_t passes = 0;
  std::uint32_t radix[32] = {};  ///< of each pass; their product is n

  PENSTOCK_HD Complex<C> root(std::uint32_t k) const {
    const Complex<C> r = roots[k];
    return inverse ? conjugate(r) : r;
  }
};

/// One butterfly: load(t) gives the elements that are put together, store(u, value) takes what they become.
/// `turn`: the number of the root that the second of them is turned by.
template <class C, class Load, class Store>
PENSTOCK_HD void butterfly(const Plan<C>& plan, std::uint32_t radix, std::uint32_t turn, const Load& load,
                           const Store& store) {
  if (radix == 2) {
    const Complex<C> a = load(0), b = load(1);
    store(0, a + b);
    store(1, (a - b) * plan.root(turn));
    return;
  }
  if (radix == 4) {
    const Complex<C> a = load(0), b = load(1), c = load(2), d = load(3);
    const Complex<C> ac = a + c, bd = b + d, a_c = a - c, b_d = b - d;
    const Complex<C> turned = plan.inverse ? Complex<C>{-b_d.im, b_d.re} : Complex<C>{b_d.im, -b_d.re};
    store(0, ac + bd);
    store(1, (a_c + turned) * plan.root(turn));
    store(2, (ac - bd) * plan.root(2 * turn));
    store(3, (a_c - turned) * plan.root(3 * turn));
    return;
  }
  const std::uint32_t apart = plan.n / radix;
  for (std::uint32_t u = 0; u < radix; ++u) {
    Complex<C> sum{0, 0};
    std::uint32_t at = 0;  // t u, modulo the radix
    for (std::uint32_t t = 0; t < radix; ++t) {
      sum = sum + load(t) * plan.root(apart * at);
      at += u;
      if (at >= radix) at -= radix;
    }
    store(u, sum * plan.root(turn * u));
  }
}

/// One pass through memory.
template <class C>
struct Pass {
  const Complex<C>* in = nullptr;
  Complex<C>* out = nullptr;
  Plan<C> plan;
  std::uint64_t inner = 1;
  std::uint32_t done = 1;  ///< product of the factors before
  std::uint32_t radix = 2;

  /// Butterfly i of outer * (n / radix) * inner.
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint32_t rest = plan.n / radix;
    std::uint64_t x = i, group = divide(x, inner);
    const std::uint64_t outer = divide(group, rest);
    std::uint64_t q = group;
    const std::uint64_t p = divide(q, done);
    const Complex<C>* const from = in + (outer * plan.n + group) * inner + x;
    Complex<C>* const to = out + (outer * plan.n + q + done * p * radix) * inner + x;
    butterfly(
        plan, radix, static_cast<std::uint32_t>(done * p), [&](std::uint32_t t) { return from[t * rest * inner]; },
        [&](std::uint32_t u, Complex<C> value) { to[u * std::uint64_t{done} * inner] = value; });
  }
};

/// Lines that are transformed where they lie, or from one memory to another.
template <class C>
struct LinesJob {
  const Complex<C>* in = nullptr;
  Complex<C>* out = nullptr;
  Plan<C> plan;
  std::uint64_t outer = 1, inner = 1;
  std::uint32_t width = 1;  ///< neighbouring lines of a tile; inner 1: one

  [[nodiscard]] PENSTOCK_HD std::uint64_t tiles() const { return outer * ((inner + width - 1) / width); }
  /// Complex numbers of shared memory.
  [[nodiscard]] PENSTOCK_HD std::uint32_t elements() const { return 2 * plan.n * width; }
};

template <class Team, class C>
PENSTOCK_HD void transform_tile(const Team& team, const LinesJob<C>& job, std::uint64_t tile, Complex<C>* shared) {
  const std::uint32_t n = job.plan.n, width = job.width;
  std::uint64_t column = tile;
  const std::uint64_t outer = divide(column, (job.inner + width - 1) / width);
  column *= width;
  const std::uint32_t lines = job.inner - column < width ? static_cast<std::uint32_t>(job.inner - column) : width;
  const std::uint64_t first = outer * n * job.inner + column;
  Complex<C>*from = shared, *to = shared + n * width;
  team.for_each(n * width, [&](std::uint32_t i) {
    const std::uint32_t k = i / width, line = i - k * width;
    from[i] = line < lines ? job.in[first + k * job.inner + line] : Complex<C>{0, 0};
  });
  std::uint32_t done = 1;
  for (std::uint32_t pass = 0; pass < job.plan.passes; ++pass) {
    const std::uint32_t radix = job.plan.radix[pass], rest = n / radix;
    team.for_each(rest * width, [&](std::uint32_t i) {
      const std::uint32_t group = i / width, line = i - group * width, p = group / done, q = group - p * done;
      const Complex<C>* const a = from + i;
      Complex<C>* const b = to + (q + done * p * radix) * width + line;
      butterfly(
          job.plan, radix, done * p, [&](std::uint32_t t) { return a[t * rest * width]; },
          [&](std::uint32_t u, Complex<C> value) { b[u * done * width] = value; });
    });
    Complex<C>* const made = to;
    to = from, from = made;
    done *= radix;
  }
  team.for_each(n * width, [&](std::uint32_t i) {
    const std::uint32_t k = i / width, line = i - k * width;
    if (line < lines) job.out[first + k * job.inner + line] = from[i];
  });
}

/// Which of `count` elements are a lane's: those that follow each other, or every lanes-th.
struct Shared {
  std::uint64_t count, lanes;
  bool together;
  [[nodiscard]] PENSTOCK_HD std::uint64_t first(std::uint64_t lane) const { return together ? lane * each() : lane; }
  [[nodiscard]] PENSTOCK_HD std::uint64_t last(std::uint64_t lane) const {
    return together && first(lane) + each() < count ? first(lane) + each() : count;
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t step() const { return together ? 1 : lanes; }
  [[nodiscard]] PENSTOCK_HD std::uint64_t each() const { return (count + lanes - 1) / lanes; }
};

/// Sums of the squares of two images.
template <class C>
struct Squares {
  const C* a;
  const C* b;
  Shared share;
  double* sums;  ///< of each lane of a, then of b
  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    double of_a = 0, of_b = 0;
    for (std::uint64_t i = share.first(lane); i < share.last(lane); i += share.step()) {
      of_a += static_cast<double>(a[i]) * a[i];
      of_b += static_cast<double>(b[i]) * b[i];
    }
    sums[lane] = of_a;
    sums[share.lanes + lane] = of_b;
  }
};

/// Two images as one of complex numbers, which one transform is enough for.
template <class C>
struct Pair {
  const C* a;
  const C* b;
  Complex<C>* out;
  C scale_a, scale_b;
  PENSTOCK_HD void operator()(std::uint64_t i) const { out[i] = {a[i] * scale_a, b[i] * scale_b}; }
};

/// From the transform of a pair the spectrum of the images' cross-correlation, of which only the phase is kept where
/// that is wanted.  The spectrum of a real image at -k is the conjugate of that at k, which tells the two apart.
template <class C>
struct CrossSpectrum {
  const Complex<C>* in;
  Complex<C>* out;
  std::uint32_t dimensions;
  std::uint64_t extent[kMaxRank];
  std::uint64_t apart;  ///< lanes of a row
  C scale;              ///< of the product, so that it is that of the images as they are
  bool whiten;
  C least;  ///< amplitudes below are not divided by

  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    const std::uint64_t width = extent[dimensions - 1];
    std::uint64_t x = lane, row = divide(x, apart), mirrored = 0, stride = 1, rest = row;
    for (std::uint32_t d = dimensions - 1; d-- > 0;) {
      std::uint64_t k = rest;
      rest = divide(k, extent[d]);
      mirrored += (k == 0 ? 0 : extent[d] - k) * stride;
      stride *= extent[d];
    }
    const Complex<C>* const here = in + row * width;
    const Complex<C>* const there = in + mirrored * width;
    for (; x < width; x += apart) out[row * width + x] = product(here[x], conjugate(there[x == 0 ? 0 : width - x]));
  }

 private:
  PENSTOCK_HD Complex<C> product(Complex<C> z, Complex<C> mirrored) const {
    const Complex<C> sum = z + mirrored, difference = z - mirrored;
    // a = sum / 2, b = difference / 2i; the product of a and b's conjugate:
    const Complex<C> turned = sum * conjugate(Complex<C>{difference.im, -difference.re});
    const Complex<C> made{turned.re * scale, turned.im * scale};
    if (!whiten) return made;
    const C size = static_cast<C>(std::sqrt(made.re * made.re + made.im * made.im));
    const C by = size > least ? size : least;
    return {made.re / by, made.im / by};
  }
};

/// The element of the largest amplitude, the first of equals.
template <class C>
struct Found {
  C size;
  Complex<C> value;
  std::uint64_t at;
};
template <class C>
struct Largest {
  const Complex<C>* in;
  Shared share;
  Found<C>* found;  ///< of each lane
  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    Found<C> best{-1, {0, 0}, 0};
    for (std::uint64_t i = share.first(lane); i < share.last(lane); i += share.step()) {
      const C size = in[i].re * in[i].re + in[i].im * in[i].im;
      if (size > best.size) best = {size, in[i], i};
    }
    found[lane] = best;
  }
};

/// Some frequencies of a transform along an axis, anywhere: `points` of them from `first` on, `step` apart.
template <class C>
struct Zoomed {
  const Complex<C>* in;
  Complex<C>* out;  ///< (outer, points, inner)
  std::uint64_t n, inner, points;
  double first, step;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t x = i % inner, point = i / inner % points, outer = i / inner / points;
    const double at = (first + step * static_cast<double>(point)) / static_cast<double>(n);
    Complex<C> sum{0, 0};
    for (std::uint64_t k = 0; k < n; ++k) {
      const double frequency = static_cast<double>(k) - (2 * k >= n + (n % 2) ? static_cast<double>(n) : 0.0);
      const double turn = frequency * at, angle = 6.283185307179586 * (turn - std::floor(turn));
      sum = sum + in[(outer * n + k) * inner + x] *
                      Complex<C>{static_cast<C>(std::cos(angle)), static_cast<C>(std::sin(angle))};
    }
    out[i] = sum;
  }
};

/// Cosine transforms stand on Fourier's of the even elements, then the odd ones backwards.
template <class C>
struct CosineIn {
  const C* in;
  Complex<C>* out;
  std::uint64_t n, inner;
  bool back;      ///< type III
  C first, rest;  ///< weights that type III undoes
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t x = i % inner, k = i / inner % n, outer = i / inner / n;
    const auto at = [&](std::uint64_t row) { return in[(outer * n + row) * inner + x]; };
    if (!back) {
      out[i] = {at(2 * k < n ? 2 * k : 2 * (n - k) - 1), C(0)};
      return;
    }
    const double angle = 1.5707963267948966 * static_cast<double>(k) / static_cast<double>(n);
    const C re = k == 0 ? first * at(0) : rest * at(k), im = k == 0 ? C(0) : -rest * at(n - k);
    out[i] = Complex<C>{re, im} * Complex<C>{static_cast<C>(std::cos(angle)), static_cast<C>(std::sin(angle))};
  }
};
template <class C>
struct CosineOut {
  const Complex<C>* in;
  C* out;
  std::uint64_t n, inner;
  bool back;
  C first, rest;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t x = i % inner, k = i / inner % n, outer = i / inner / n;
    if (back) {
      out[i] = in[(outer * n + (k % 2 == 0 ? k / 2 : n - 1 - k / 2)) * inner + x].re;
      return;
    }
    const double angle = -1.5707963267948966 * static_cast<double>(k) / static_cast<double>(n);
    const Complex<C> turned = in[i] * Complex<C>{static_cast<C>(std::cos(angle)), static_cast<C>(std::sin(angle))};
    out[i] = (k == 0 ? first : rest) * turned.re;
  }
};

}  // namespace penstock::fourier

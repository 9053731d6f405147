// Fourier and cosine transforms along an axis of (outer, n, inner): written once for every processor, one butterfly at
// a time.
//
// A transform of n = r1 r2 ... is a pass for each factor, from one memory to another, which leaves the frequencies in
// order (Stockham).  Factors of 4 and 2 have their sums written out, others are sums of as many terms as they say:
// lengths with a large prime factor take time in proportion to it.
#pragma once
#include <cmath>
#include <cstdint>

#include "device/portable.hpp"

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

/// One pass; kRadix 0: any.
template <class C, int kRadix>
struct Pass {
  const Complex<C>* in = nullptr;
  Complex<C>* out = nullptr;
  const Complex<C>* roots = nullptr;  ///< exp(-2 pi i k / n), n of them
  std::uint64_t n = 1, inner = 1;
  std::uint64_t done = 1;  ///< product of the factors before
  std::uint32_t radix = 2;
  bool inverse = false;

  [[nodiscard]] PENSTOCK_HD std::uint64_t rest() const { return n / done / radix; }
  /// Butterfly i of outer * (n / radix) * inner.
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t x = i % inner, group = i / inner % (n / radix), outer = i / inner / (n / radix);
    const std::uint64_t q = group % done, p = group / done;
    const std::uint64_t first = outer * n * inner + x;
    const Complex<C>* const from = in + first + (q + done * p) * inner;
    Complex<C>* const to = out + first + (q + done * p * radix) * inner;
    const std::uint64_t step = done * rest() * inner;
    if constexpr (kRadix == 2) {
      const Complex<C> a = from[0], b = from[step];
      to[0] = a + b;
      to[done * inner] = (a - b) * root(done * p);
    } else if constexpr (kRadix == 4) {
      const Complex<C> a = from[0], b = from[step], c = from[2 * step], d = from[3 * step];
      const Complex<C> ac = a + c, bd = b + d, a_c = a - c, b_d = b - d;
      const Complex<C> turned = inverse ? Complex<C>{-b_d.im, b_d.re} : Complex<C>{b_d.im, -b_d.re};
      to[0] = ac + bd;
      to[done * inner] = (a_c + turned) * root(done * p);
      to[2 * done * inner] = (ac - bd) * root(2 * done * p);
      to[3 * done * inner] = (a_c - turned) * root(3 * done * p);
    } else {
      for (std::uint64_t u = 0; u < radix; ++u) {
        Complex<C> sum{0, 0};
        for (std::uint64_t t = 0; t < radix; ++t) sum = sum + from[t * step] * root(n / radix * (t * u % radix));
        to[u * done * inner] = sum * root(done * p * u);
      }
    }
  }

 private:
  PENSTOCK_HD Complex<C> root(std::uint64_t k) const {
    const Complex<C> r = roots[k % n];
    return inverse ? conjugate(r) : r;
  }
};

/// Elements as complex numbers.
template <class C>
struct ToComplex {
  const C* in;
  Complex<C>* out;
  PENSTOCK_HD void operator()(std::uint64_t i) const { out[i] = {in[i], C(0)}; }
};

/// The spectrum of a cross-correlation, of which only the phase is kept where that is wanted.
template <class C>
struct CrossSpectrum {
  Complex<C>* a;  ///< in and out
  const Complex<C>* b;
  bool whiten;
  C least;  ///< amplitudes below are not divided by
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    Complex<C> product = a[i] * conjugate(b[i]);
    if (whiten) {
      const C size = static_cast<C>(std::sqrt(product.re * product.re + product.im * product.im));
      const C by = size > least ? size : least;
      product = {product.re / by, product.im / by};
    }
    a[i] = product;
  }
};

/// The largest amplitude of every lanes-th element, the first of equals.
template <class C>
struct Largest {
  const Complex<C>* in;
  std::uint64_t count, lanes;
  C* value;
  std::uint64_t* index;
  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    C most = -1;
    std::uint64_t at = 0;
    for (std::uint64_t i = lane; i < count; i += lanes) {
      const C size = in[i].re * in[i].re + in[i].im * in[i].im;
      if (size > most) most = size, at = i;
    }
    value[lane] = most;
    index[lane] = at;
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

// Fourier transforms on the host's side.
#pragma once
#include <vector>

#include "ops/fourier/kernel.hpp"
#include "ops/operator.hpp"

namespace penstock::fourier {

/// (outer, n, inner) of packed memory.
struct Lines {
  std::uint64_t outer = 1, n = 1, inner = 1;
  static Lines of(const Shape& shape, std::size_t axis);
  [[nodiscard]] std::uint64_t elements() const { return outer * n * inner; }
};

/// Factors of a length, 4 first.
std::vector<std::uint32_t> factors(std::uint64_t n);

/// Transforms one axis; nothing is divided.  `a` holds the elements and `b` as many; returns the one of them that holds
/// the result.
template <class C>
Result<Complex<C>*> transform(Complex<C>* a, Complex<C>* b, const Lines& lines, bool inverse, const Workspace& work);

/// f(0) ... f(count - 1) where the operator works.
template <class F>
Status run_on_cuda(const F& f, std::uint64_t count, const Stream& stream);
template <class F>
Status run(const F& f, std::uint64_t count, const Workspace& work);

/// Cosine transform of type II or III (`type` 2 or 3) along some axes, as scipy.fft.dctn.
std::unique_ptr<Operator> make_dct(const ArrayInfo& input, std::size_t axis, int type, bool ortho);

template <class C>
using AnyPass = Pass<C, 0>;
template <class C>
using PassOf2 = Pass<C, 2>;
template <class C>
using PassOf4 = Pass<C, 4>;

/// All that runs on a device: `M(F)`.
// clang-format off: it moves the rows further each time
#define PENSTOCK_FOURIER_JOBS_OF(M, C) \
  M(AnyPass<C>) M(PassOf2<C>) M(PassOf4<C>) M(ToComplex<C>) M(CrossSpectrum<C>) M(Largest<C>) M(Zoomed<C>) \
  M(CosineIn<C>) M(CosineOut<C>)
#define PENSTOCK_FOURIER_JOBS(M) PENSTOCK_FOURIER_JOBS_OF(M, float) PENSTOCK_FOURIER_JOBS_OF(M, double)
// clang-format on

}  // namespace penstock::fourier

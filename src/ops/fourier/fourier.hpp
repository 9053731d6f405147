// Fourier transforms on the host's side.
#pragma once
#include <utility>
#include <vector>

#include "ops/fourier/kernel.hpp"
#include "ops/isa.hpp"
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

/// Roots of the lengths that an operation transforms, where it works; each is made once.
template <class C>
class Roots {
 public:
  Result<const Complex<C>*> of(std::uint64_t n, const Workspace& work);

 private:
  std::vector<std::pair<std::uint64_t, Buffer>> made_;
};

/// Transforms one axis; nothing is divided.  `a` holds the elements and `b` as many; returns the one of them that holds
/// the result.  Errors: out_of_range (2^31 elements and more).
template <class C>
Result<Complex<C>*> transform(Complex<C>* a, Complex<C>* b, const Lines& lines, bool inverse, Roots<C>& roots,
                              const Workspace& work);
template <class C>
Status transform_on_cpu(const LinesJob<C>& job, Job& threads, Isa isa);
/// Errors: device_error; unsupported (built without CUDA).
template <class C>
Status transform_on_cuda(const LinesJob<C>& job, const Stream& stream);

/// f(0) ... f(count - 1) where the operator works.
template <class F>
Status run_on_cuda(const F& f, std::uint64_t count, const Stream& stream);
template <class F>
Status run(const F& f, std::uint64_t count, const Workspace& work);

/// Cosine transform of type II or III (`type` 2 or 3) along some axes, as scipy.fft.dctn.
std::unique_ptr<Operator> make_dct(const ArrayInfo& input, std::size_t axis, int type, bool ortho);

/// All that runs on a device: `M(F)`.
// clang-format off: it moves the rows further each time
#define PENSTOCK_FOURIER_JOBS_OF(M, C) \
  M(Pass<C>) M(Squares<C>) M(Pair<C>) M(CrossSpectrum<C>) M(Largest<C>) M(Zoomed<C>) M(CosineIn<C>) M(CosineOut<C>)
#define PENSTOCK_FOURIER_JOBS(M) PENSTOCK_FOURIER_JOBS_OF(M, float) PENSTOCK_FOURIER_JOBS_OF(M, double)
// clang-format on

}  // namespace penstock::fourier

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/checked.hpp"
#include "ops/each.hpp"
#include "ops/fourier/fourier.hpp"

namespace penstock::fourier {
namespace {

/// exp(-2 pi i k / n), in double until they are stored.
template <class C>
std::vector<Complex<C>> roots_of(std::uint64_t n) {
  std::vector<Complex<C>> roots(n);
  for (std::uint64_t k = 0; k < n; ++k) {
    const double angle = -2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
    roots[k] = {static_cast<C>(std::cos(angle)), static_cast<C>(std::sin(angle))};
  }
  return roots;
}

template <class C, int kRadix>
Status run_pass(const Pass<C, 0>& pass, std::uint64_t count, const Workspace& work) {
  const Pass<C, kRadix> same{pass.in, pass.out, pass.roots, pass.n, pass.inner, pass.done, pass.radix, pass.inverse};
  return run(same, count, work);
}

/// One axis after the other of real elements.
class DctOperator final : public Operator {
 public:
  DctOperator(const ArrayInfo& info, std::size_t axis, int type, bool ortho)
      : Operator(info, info), axis_(axis), type_(type), ortho_(ortho) {}

  [[nodiscard]] Region needs(const Region& box) const override {
    Region region = box;
    region[axis_] = {0, input().shape[axis_], 1};
    return region;
  }
  [[nodiscard]] std::uint64_t scratch_bytes(const Region& box) const override {
    std::uint64_t bytes = 5 * input().dtype.size_bytes;  // two complex numbers each, and what is not asked for
    for (const Range& r : needs(box)) bytes = saturating_mul(bytes, r.count);
    return bytes;
  }
  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    return input().dtype.size_bytes == 4 ? run_as<float>(in, out, work) : run_as<double>(in, out, work);
  }
  [[nodiscard]] std::string text() const override {
    return fmt::format("cosine transform of type {} along axis {}, in {}", type_, axis_, input().dtype.name());
  }

 private:
  template <class C>
  Status run_as(const Tile& in, const Tile& out, const Workspace& work) const {
    const Lines lines = Lines::of(shape_of(in.box), axis_);
    const std::uint64_t count = lines.elements(), bytes = count * sizeof(Complex<C>);
    PENSTOCK_ASSIGN(const Buffer a, work.scratch(bytes));
    PENSTOCK_ASSIGN(const Buffer b, work.scratch(bytes));
    auto* const first = reinterpret_cast<Complex<C>*>(a.data());
    const auto n = static_cast<double>(lines.n);
    const bool back = type_ == 3;
    // Type II doubles its sums, III all but the first element; "ortho" makes both turns of space.
    const double none = back ? 1 : 2, w0 = ortho_ ? std::sqrt(1 / n) : none;
    const double w = ortho_ ? std::sqrt(2 / n) * (back ? 0.5 : 1) : none;
    const CosineIn<C> prepare{
        static_cast<const C*>(in.view.data), first, lines.n, lines.inner, back, static_cast<C>(w0), static_cast<C>(w)};
    PENSTOCK_TRY(fourier::run(prepare, count, work));
    PENSTOCK_ASSIGN(const Complex<C>* const made,
                    transform(first, reinterpret_cast<Complex<C>*>(b.data()), lines, back, work));
    if (in.box == out.box) return finish(made, static_cast<C*>(out.view.data), lines, w0, w, work);
    PENSTOCK_ASSIGN(const Buffer whole, work.scratch(count * sizeof(C)));
    PENSTOCK_TRY(finish(made, reinterpret_cast<C*>(whole.data()), lines, w0, w, work));
    PENSTOCK_ASSIGN(const TensorView all, TensorView::packed(whole.data(), in.view.dtype, in.view.shape, work.stream));
    std::vector<Index> part(axis_, Slice{});
    const auto start = static_cast<std::int64_t>(out.box[axis_].start);
    part.emplace_back(Slice{start, start + static_cast<std::int64_t>(out.box[axis_].count), 1});
    PENSTOCK_ASSIGN(const TensorView wanted, all.slice(part));
    return copy_elements(wanted, out.view);
  }
  template <class C>
  Status finish(const Complex<C>* made, C* out, const Lines& lines, double w0, double w, const Workspace& work) const {
    const CosineOut<C> last{made, out, lines.n, lines.inner, type_ == 3, static_cast<C>(w0), static_cast<C>(w)};
    return fourier::run(last, lines.elements(), work);
  }

  std::size_t axis_;
  int type_;
  bool ortho_;
};

}  // namespace

Lines Lines::of(const Shape& shape, std::size_t axis) {
  Lines lines;
  for (std::size_t d = 0; d < axis; ++d) lines.outer *= shape[d];
  lines.n = shape[axis];
  for (std::size_t d = axis + 1; d < shape.size(); ++d) lines.inner *= shape[d];
  return lines;
}

std::vector<std::uint32_t> factors(std::uint64_t n) {
  std::vector<std::uint32_t> found;
  for (; n % 4 == 0; n /= 4) found.push_back(4);
  for (std::uint64_t f = 2; f * f <= n; ++f)
    for (; n % f == 0; n /= f) found.push_back(static_cast<std::uint32_t>(f));
  if (n > 1) found.push_back(static_cast<std::uint32_t>(n));
  return found;
}

template <class F>
Status run(const F& f, std::uint64_t count, const Workspace& work) {
  return work.on_device() ? run_on_cuda(f, count, work.stream) : run_each(*work.job, count, f);
}
#define PENSTOCK_INSTANTIATE(F) template Status run(const F&, std::uint64_t, const Workspace&);
PENSTOCK_FOURIER_JOBS(PENSTOCK_INSTANTIATE)

template <class C>
Result<Complex<C>*> transform(Complex<C>* a, Complex<C>* b, const Lines& lines, bool inverse, const Workspace& work) {
  if (lines.elements() == 0) return a;
  if (lines.n > UINT32_MAX) return Error(ErrorCode::out_of_range, fmt::format("a transform of {} elements", lines.n));
  const std::vector<Complex<C>> roots = roots_of<C>(lines.n);
  PENSTOCK_ASSIGN(const Buffer there, work.upload(roots.data(), roots.size() * sizeof(Complex<C>)));
  Pass<C, 0> pass;
  pass.roots = reinterpret_cast<const Complex<C>*>(there.data());
  pass.n = lines.n;
  pass.inner = lines.inner;
  pass.inverse = inverse;
  for (const std::uint32_t radix : factors(lines.n)) {
    pass.in = a;
    pass.out = b;
    pass.radix = radix;
    const std::uint64_t count = lines.elements() / radix;
    const auto pass_of = radix == 4 ? run_pass<C, 4> : radix == 2 ? run_pass<C, 2> : run_pass<C, 0>;
    PENSTOCK_TRY(pass_of(pass, count, work));
    pass.done *= radix;
    std::swap(a, b);
  }
  return a;
}
template Result<Complex<float>*> transform(Complex<float>*, Complex<float>*, const Lines&, bool, const Workspace&);
template Result<Complex<double>*> transform(Complex<double>*, Complex<double>*, const Lines&, bool, const Workspace&);

std::unique_ptr<Operator> make_dct(const ArrayInfo& input, std::size_t axis, int type, bool ortho) {
  return std::make_unique<DctOperator>(input, axis, type, ortho);
}

}  // namespace penstock::fourier

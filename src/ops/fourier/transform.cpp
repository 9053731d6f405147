#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/checked.hpp"
#include "ops/each.hpp"
#include "ops/fourier/fourier.hpp"
#include "ops/tuning.hpp"

#define PENSTOCK_ISA baseline
#include "ops/fourier/loops.hpp"
#ifdef PENSTOCK_HAVE_ISAS
PENSTOCK_BEGIN_AVX2
#define PENSTOCK_ISA avx2
#include "ops/fourier/loops.hpp"
PENSTOCK_END_ISA
PENSTOCK_BEGIN_AVX512
#define PENSTOCK_ISA avx512
#include "ops/fourier/loops.hpp"
PENSTOCK_END_ISA
#endif

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
    Roots<C> roots;
    PENSTOCK_ASSIGN(const Complex<C>* const made,
                    transform(first, reinterpret_cast<Complex<C>*>(b.data()), lines, back, roots, work));
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
Result<const Complex<C>*> Roots<C>::of(std::uint64_t n, const Workspace& work) {
  auto found = std::ranges::find(made_, n, &std::pair<std::uint64_t, Buffer>::first);
  if (found == made_.end()) {
    const std::vector<Complex<C>> roots = roots_of<C>(n);
    PENSTOCK_ASSIGN(Buffer there, work.upload(roots.data(), roots.size() * sizeof(Complex<C>)));
    found = made_.emplace(made_.end(), n, std::move(there));
  }
  return reinterpret_cast<const Complex<C>*>(found->second.data());
}
template class Roots<float>;
template class Roots<double>;

namespace {

/// Elements of a line of which a few side by side still lie in a second-level cache.
constexpr std::uint64_t kHostLine = 1u << 13;

/// A pass after the other through memory: for lines that nothing nearer holds.
template <class C>
Result<Complex<C>*> transform_by_passes(const LinesJob<C>& job, Complex<C>* a, Complex<C>* b, const Workspace& work) {
  Pass<C> pass;
  pass.plan = job.plan;
  pass.inner = job.inner;
  for (std::uint32_t i = 0; i < job.plan.passes; ++i) {
    pass.in = a;
    pass.out = b;
    pass.radix = job.plan.radix[i];
    PENSTOCK_TRY(run(pass, job.outer * job.inner * (job.plan.n / pass.radix), work));
    pass.done *= pass.radix;
    std::swap(a, b);
  }
  return a;
}

}  // namespace

template <class C>
Result<Complex<C>*> transform(Complex<C>* a, Complex<C>* b, const Lines& lines, bool inverse, Roots<C>& roots,
                              const Workspace& work) {
  if (lines.elements() == 0 || lines.n == 1) return a;
  if (lines.n > INT32_MAX) return Error(ErrorCode::out_of_range, fmt::format("a transform of {} elements", lines.n));
  LinesJob<C> job;
  PENSTOCK_ASSIGN(job.plan.roots, roots.of(lines.n, work));
  job.plan.n = static_cast<std::uint32_t>(lines.n);
  job.plan.inverse = inverse;
  for (const std::uint32_t radix : factors(lines.n)) job.plan.radix[job.plan.passes++] = radix;
  job.in = job.out = a;
  job.outer = lines.outer;
  job.inner = lines.inner;
  if (!work.on_device()) {
    if (lines.n > kHostLine) return transform_by_passes(job, a, b, work);
    PENSTOCK_TRY(transform_on_cpu(job, *work.job, best_isa()));
    return a;
  }
  // Columns: as many neighbours as share a sector of memory, or as there is room for.
  job.width = lines.inner == 1 ? 1 : 32 / sizeof(Complex<C>);
  const auto bytes = [&] { return std::uint64_t{job.elements()} * sizeof(Complex<C>); };
  while (job.width > 1 && bytes() > tuning::kSharedBytes) job.width /= 2;
  if (lines.n > tuning::kSharedBytes || bytes() > tuning::kSharedBytes) return transform_by_passes(job, a, b, work);
  PENSTOCK_TRY(transform_on_cuda(job, work.stream));
  return a;
}
template Result<Complex<float>*> transform(Complex<float>*, Complex<float>*, const Lines&, bool, Roots<float>&,
                                           const Workspace&);
template Result<Complex<double>*> transform(Complex<double>*, Complex<double>*, const Lines&, bool, Roots<double>&,
                                            const Workspace&);

template <class C>
Status transform_on_cpu(const LinesJob<C>& job, Job& threads, Isa isa) {
  constexpr std::uint64_t kLines = 64 / sizeof(C);
  const std::uint64_t lines = job.outer * job.inner, groups = div_up(lines, kLines);
  const std::uint64_t together = std::max<std::uint64_t>(tuning::kTaskElements / (kLines * job.plan.n), 1);
  return threads.for_each(div_up(groups, together), true, [&](std::uint64_t task) -> Status {
    Bytes& memory = threads.worker().scratch.a;  // its beginning is where a cache line is
    PENSTOCK_TRY(memory.resize_discard(std::uint64_t{2} * job.plan.n * kLines * sizeof(Complex<C>)));
    for (std::uint64_t i = task * together; i < std::min((task + 1) * together, groups); ++i) {
      const std::uint64_t first = i * kLines, here = std::min(kLines, lines - first);
#ifdef PENSTOCK_HAVE_ISAS
      if (isa == Isa::avx512) {
        avx512::transform_lines(job, first, here, memory.data());
        continue;
      }
      if (isa == Isa::avx2) {
        avx2::transform_lines(job, first, here, memory.data());
        continue;
      }
#endif
      static_cast<void>(isa);
      baseline::transform_lines(job, first, here, memory.data());
    }
    return {};
  });
}
template Status transform_on_cpu(const LinesJob<float>&, Job&, Isa);
template Status transform_on_cpu(const LinesJob<double>&, Job&, Isa);

std::unique_ptr<Operator> make_dct(const ArrayInfo& input, std::size_t axis, int type, bool ortho) {
  return std::make_unique<DctOperator>(input, axis, type, ortho);
}

}  // namespace penstock::fourier

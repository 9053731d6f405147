#include "ops/line/spline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/checked.hpp"
#include "ops/tuning.hpp"

#define PENSTOCK_ISA baseline
#include "ops/line/spline_loops.hpp"
#ifdef PENSTOCK_HAVE_ISAS
PENSTOCK_BEGIN_AVX2
#define PENSTOCK_ISA avx2
#include "ops/line/spline_loops.hpp"
PENSTOCK_END_ISA
PENSTOCK_BEGIN_AVX512
#define PENSTOCK_ISA avx512
#include "ops/line/spline_loops.hpp"
PENSTOCK_END_ISA
#endif

namespace penstock::line {
namespace {

/// After so many elements a pole's power is less than a double tells.
std::uint64_t reach_of(double pole, double smallest = 1e-18) {
  return static_cast<std::uint64_t>(std::ceil(std::log(smallest) / std::log(std::abs(pole)))) + 1;
}

template <class C>
struct Prepared {
  SplineJob<C> job;
  std::vector<Start<C>> starts;
};

template <class C>
Prepared<C> prepare(int order, std::uint64_t n, SplineBorder border) {
  Prepared<C> made;
  double gain = 1;
  for (const double z : spline_poles(order)) {
    gain *= (1 - z) * (1 - 1 / z);
    const auto add = [&](const std::vector<Start<double>>& starts) {
      for (const auto& [row, weight] : starts) made.starts.push_back({row, static_cast<C>(weight)});
      return static_cast<std::uint32_t>(starts.size());
    };
    const std::uint32_t p = made.job.poles++;
    made.job.pole[p] = static_cast<C>(z);
    made.job.forwards[p] = add(forward_starts(z, n, border));
    made.job.backwards[p] = add(backward_starts(z, n, border));
  }
  made.job.gain = static_cast<C>(gain);
  return made;
}

class SplineOperator final : public Operator {
 public:
  SplineOperator(const ArrayInfo& info, std::size_t axis, int order, SplineBorder border)
      : Operator(info, info), axis_(axis), order_(order), border_(border) {}

  /// What is far away counts for less than the elements' type tells, so that a part of a long line is made of a part.
  [[nodiscard]] Region needs(const Region& box) const override {
    Region region = box;
    Range& along = region[axis_];
    const std::uint64_t n = input().shape[axis_];
    if (border_ == SplineBorder::wrap) {
      along = {0, n, 1};
      return region;
    }
    std::uint64_t reach = 0;
    for (const double z : spline_poles(order_)) reach += reach_of(z, is_float() ? 1e-10 : 1e-18);
    const std::uint64_t first = along.start - std::min(along.start, reach);
    along = {first, std::min(along.start + along.count + reach, n) - first, 1};
    return region;
  }

  [[nodiscard]] std::uint64_t scratch_bytes(const Region& box) const override {
    const Region in = needs(box);
    if (in == box) return 0;
    std::uint64_t bytes = input().dtype.size_bytes;
    for (const Range& r : in) bytes = saturating_mul(bytes, r.count);
    return bytes;
  }

  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    // On a device a recursion has one lane for a line and waits for memory at every element.
    if (work.on_device() && is_float() && spline_poles(order_).size() == 1) {
      PENSTOCK_ASSIGN(const auto sum, make_filter(input(), spline_sum(axis_, order_, border_)));
      return sum->run(in, out, work);
    }
    if (in.box == out.box) return filter(in, out.view.data, work);
    PENSTOCK_ASSIGN(const std::uint64_t bytes, in.view.bytes());
    PENSTOCK_ASSIGN(const Buffer memory, work.scratch(bytes));
    PENSTOCK_TRY(filter(in, memory.data(), work));
    PENSTOCK_ASSIGN(const TensorView made,
                    TensorView::packed(memory.data(), in.view.dtype, in.view.shape, work.stream));
    std::vector<Index> part(axis_, Slice{});
    const auto first = static_cast<std::int64_t>(out.box[axis_].start - in.box[axis_].start);
    part.emplace_back(Slice{first, first + static_cast<std::int64_t>(out.box[axis_].count), 1});
    PENSTOCK_ASSIGN(const TensorView wanted, made.slice(part));
    return copy_elements(wanted, out.view);
  }

  [[nodiscard]] std::string text() const override {
    return fmt::format("spline coefficients along axis {}, order {}, in {}", axis_, order_, input().dtype.name());
  }

 private:
  [[nodiscard]] bool is_float() const { return input().dtype.size_bytes == 4; }

  Status filter(const Tile& in, void* out, const Workspace& work) const {
    return is_float() ? filter_as<float>(in, out, work) : filter_as<double>(in, out, work);
  }
  template <class C>
  Status filter_as(const Tile& in, void* out, const Workspace& work) const {
    auto [job, starts] = prepare<C>(order_, in.box[axis_].count, border_);
    for (std::size_t d = 0; d < axis_; ++d) job.shape.outer *= in.box[d].count;
    for (std::size_t d = axis_ + 1; d < in.box.size(); ++d) job.shape.inner *= in.box[d].count;
    job.shape.in = job.shape.out = in.box[axis_].count;
    job.in = static_cast<const C*>(in.view.data);
    job.out = static_cast<C*>(out);
    job.starts = starts.data();
    if (!work.on_device()) return splines_on_cpu(job, *work.job, best_isa());
    PENSTOCK_ASSIGN(const Buffer there, work.upload(starts.data(), starts.size() * sizeof(Start<C>)));
    job.starts = reinterpret_cast<const Start<C>*>(there.data());
    return splines_on_cuda(job, work.stream);
  }

  std::size_t axis_;
  int order_;
  SplineBorder border_;
};

template <class C>
void filter_group(const SplineJob<C>& job, std::size_t i, std::size_t width, C* rows, Isa isa) {
  const std::size_t inner = job.shape.inner, outer = job.shape.outer, strips = div_up(inner, width);
  const auto run = [&](const auto& columns, const auto& lines) {
    if (inner == 1) return lines(job, i * width, std::min(width, outer - i * width), rows);
    const std::size_t column = i % strips * width;
    columns(job, i / strips, column, std::min(width, inner - column), rows);
  };
#ifdef PENSTOCK_HAVE_ISAS
  if (isa == Isa::avx512) return run(avx512::filter_columns<C>, avx512::filter_lines<C>);
  if (isa == Isa::avx2) return run(avx2::filter_columns<C>, avx2::filter_lines<C>);
#endif
  static_cast<void>(isa);
  run(baseline::filter_columns<C>, baseline::filter_lines<C>);
}

}  // namespace

std::vector<double> spline_poles(int order) {
  switch (order) {
    case 2: return {std::sqrt(8.0) - 3};
    case 3: return {std::sqrt(3.0) - 2};
    case 4:
      return {std::sqrt(664 - std::sqrt(438976.0)) + std::sqrt(304.0) - 19,
              std::sqrt(664 + std::sqrt(438976.0)) - std::sqrt(304.0) - 19};
    case 5:
      return {std::sqrt(67.5 - std::sqrt(4436.25)) + std::sqrt(26.25) - 6.5,
              std::sqrt(67.5 + std::sqrt(4436.25)) - std::sqrt(26.25) - 6.5};
    default: return {};
  }
}

SplineBorder spline_border(std::string_view mode) {
  if (mode == "grid-wrap") return SplineBorder::wrap;
  return mode == "reflect" || mode == "grid-mirror" || mode == "nearest" ? SplineBorder::reflect : SplineBorder::mirror;
}

std::vector<Start<double>> forward_starts(double pole, std::uint64_t n, SplineBorder border) {
  // The sum over all that comes before the line, each with the pole's power: of a line that repeats with period L, all
  // periods are the first one over 1 - pole^L.
  if (n == 1) return {{0, 1 / (1 - pole)}};
  const auto power = [&](std::uint64_t k) { return std::pow(pole, static_cast<double>(k)); };
  const std::uint64_t reach = reach_of(pole);
  const std::uint64_t period = border == SplineBorder::mirror ? 2 * n - 2 : border == SplineBorder::reflect ? 2 * n : n;
  const double all = 1 - power(period);
  std::vector<Start<double>> starts;
  for (std::uint64_t k = 0; k < n; ++k) {
    double weight = 0;  // of the element k
    if (border == SplineBorder::mirror)
      weight = power(k) + (k > 0 && k < n - 1 ? power(period - k) : 0);
    else if (border == SplineBorder::reflect)
      weight = power(k + 1) + power(period - k) + (k == 0 ? all : 0);
    else
      weight = k == 0 ? 1 : power(n - k);
    if (border == SplineBorder::wrap ? k == 0 || n - k <= reach : k <= reach || n - k <= 1)
      starts.push_back({static_cast<std::uint32_t>(k), weight / all});
  }
  return starts;
}

std::vector<Start<double>> backward_starts(double pole, std::uint64_t n, SplineBorder border) {
  const auto last = static_cast<std::uint32_t>(n - 1);
  if (n == 1) return {{0, -pole / (1 - pole)}};
  if (border == SplineBorder::reflect) return {{last, pole / (pole - 1)}};
  if (border == SplineBorder::mirror) {
    const double w = pole / (pole * pole - 1);
    return {{last, w}, {last - 1, w * pole}};
  }
  const double all = 1 - std::pow(pole, static_cast<double>(n));
  std::vector<Start<double>> starts = {{last, -pole / all}};
  const std::uint64_t reach = std::min(reach_of(pole), n - 1);
  for (std::uint64_t k = 1; k <= reach; ++k)
    starts.push_back({static_cast<std::uint32_t>(k - 1), -std::pow(pole, static_cast<double>(k + 1)) / all});
  return starts;
}

Filter spline_sum(std::size_t axis, int order, SplineBorder border) {
  // z / (z^2 - 1) times the gain, and z^|k| for the element k away, is what the recursions forwards and backwards make.
  const double z = spline_poles(order).front();
  const auto reach = static_cast<std::int64_t>(reach_of(z, 1e-7));
  Filter sum;
  sum.axis = axis;
  sum.before = reach;
  sum.taps = static_cast<std::uint32_t>(2 * reach + 1);
  for (std::int64_t k = -reach; k <= reach; ++k)
    sum.weights.push_back((1 - z) / (1 + z) * std::pow(z, static_cast<double>(std::abs(k))));
  sum.border = border == SplineBorder::wrap      ? Border::wrap
               : border == SplineBorder::reflect ? Border::reflect
                                                 : Border::mirror;
  sum.compute = Compute::float32;
  return sum;
}

std::unique_ptr<Operator> make_spline(const ArrayInfo& input, std::size_t axis, int order, SplineBorder border) {
  return std::make_unique<SplineOperator>(input, axis, order, border);
}

template <class C>
Status splines_on_cpu(const SplineJob<C>& job, Job& threads, Isa isa) {
  if (job.shape.outputs() == 0) return {};
  const std::size_t n = job.shape.in, inner = job.shape.inner, lines = inner == 1 ? job.shape.outer : inner;
  // Whole cache lines, as many as keep the rows of a strip in the cache, but not fewer than registers hold.
  const std::size_t least = 64 / sizeof(C), fit = tuning::kLineBytes / sizeof(C) / (n + 1) / least * least;
  const std::size_t width = std::min(std::clamp(fit, least, tuning::kLineWidth), lines);
  const std::size_t groups = inner == 1 ? div_up(lines, width) : job.shape.outer * div_up(inner, width);
  const std::size_t together = std::max<std::size_t>(tuning::kTaskElements / (n * width), 1);
  return threads.for_each(div_up(groups, together), true, [&](std::uint64_t task) -> Status {
    Bytes& memory = threads.worker().scratch.a;
    PENSTOCK_TRY(memory.resize_discard((n + 1) * width * sizeof(C)));
    const std::size_t last = std::min((task + 1) * together, groups);
    for (std::size_t i = task * together; i < last; ++i)
      filter_group(job, i, width, reinterpret_cast<C*>(memory.data()), isa);
    return {};
  });
}
template Status splines_on_cpu(const SplineJob<float>&, Job&, Isa);
template Status splines_on_cpu(const SplineJob<double>&, Job&, Isa);

}  // namespace penstock::line

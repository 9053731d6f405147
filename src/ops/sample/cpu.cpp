// Coordinates a block at a time: where all neighbours of all of them are there, without a question about borders.
#include "ops/sample/cpu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/checked.hpp"
#include "ops/tuning.hpp"

#define PENSTOCK_ISA baseline
#include "ops/sample/loops.hpp"
#ifdef PENSTOCK_HAVE_ISAS
PENSTOCK_BEGIN_AVX2
#define PENSTOCK_ISA avx2
#include "ops/sample/loops.hpp"
PENSTOCK_END_ISA
PENSTOCK_BEGIN_AVX512
#define PENSTOCK_ISA avx512
#include "ops/sample/loops.hpp"
PENSTOCK_END_ISA
#endif

namespace penstock::sample {
namespace {

/// One row of the output: what its coordinates have in common.
template <class T, class C>
struct Row {
  const SampleJob<T, C>& job;
  std::uint64_t number;  ///< of its first output
  double start[kMaxDimensions];

  Row(const SampleJob<T, C>& of, std::uint64_t row) : job(of), number(row * of.out_extent[last()]) {
    double index[kMaxDimensions] = {};
    for (std::uint32_t k = last(); k-- > 0; row /= job.out_extent[k])
      index[k] = static_cast<double>(static_cast<std::int64_t>(row % job.out_extent[k]) + job.out_origin[k]);
    for (std::uint32_t d = 0; d < job.dimensions; ++d) {
      start[d] = job.offset[d];
      if (job.from == From::displacement && d < last()) start[d] += index[d];
      if (job.from != From::matrix) continue;
      for (std::uint32_t k = 0; k < last(); ++k) start[d] += job.matrix[d * kMaxDimensions + k] * index[k];
    }
  }
  [[nodiscard]] std::uint32_t last() const { return job.out_dimensions - 1; }

  /// Coordinates of the outputs x ... x + block.count - 1 of the row, not yet folded.
  void find(std::uint64_t x, Block& block) const {
    const auto first = static_cast<double>(static_cast<std::int64_t>(x) + job.out_origin[last()]);
    for (std::uint32_t d = 0; d < job.dimensions; ++d) {
      double* const at = block.at[d];
      const double* const given = job.from == From::matrix ? nullptr : job.coordinates + d * job.outputs + number + x;
      const double step = job.from == From::matrix ? job.matrix[d * kMaxDimensions + last()] : d == last() ? 1 : 0;
      for (std::size_t i = 0; i < block.count; ++i) {
        at[i] = job.from == From::list ? start[d] : start[d] + step * (first + static_cast<double>(i));
        if (given != nullptr) at[i] += given[i];
      }
    }
  }
};

/// Coordinates in [low, high) of an axis have all their neighbours.
struct Within {
  double low = 0, high = -1;
};
template <class T, class C>
Within within(const SampleJob<T, C>& job, std::uint32_t axis) {
  const auto n = static_cast<double>(job.shape[axis]);
  return job.order == 3 ? Within{1, n - 2} : Within{0, n - 1};
}

/// The loops are for the orders 0, 1 and 3 in the plane and in space, and count in 32 bits.
template <class T, class C>
bool has_loop(const SampleJob<T, C>& job) {
  const bool order = job.order <= 1 || (job.order == 3 && std::is_same_v<T, C>);
  return order && (job.dimensions == 2 || job.dimensions == 3) &&
         job.elements <= std::numeric_limits<std::int32_t>::max();
}

#ifdef PENSTOCK_HAVE_ISAS
#define PENSTOCK_RUN(f, ...) \
  (isa == Isa::avx512 ? avx512::f(__VA_ARGS__) : isa == Isa::avx2 ? avx2::f(__VA_ARGS__) : baseline::f(__VA_ARGS__))
#else
#define PENSTOCK_RUN(f, ...) baseline::f(__VA_ARGS__)
#endif

template <class T, class C>
bool run_loop(const SampleJob<T, C>& job, const Block& block, T* out, [[maybe_unused]] Isa isa) {
  for (std::uint32_t d = 0; d < job.dimensions; ++d) {
    const Within w = within(job, d);
    if (!PENSTOCK_RUN(all_within, block.at[d], block.count, w.low, w.high)) return false;
  }
  if constexpr (std::is_same_v<T, C> && std::is_integral_v<T>) {
    PENSTOCK_RUN(nearest_cells, job, block, out);
  } else {
    if (job.order == 1) PENSTOCK_RUN(linear_cells, job, block, out);
    if constexpr (std::is_same_v<T, C>)
      if (job.order == 3) PENSTOCK_RUN(cubic_cells, job, block, out);
  }
  return true;
}

/// Whether along a row only the last coordinate changes, by one from output to output: turns about the last axis, and
/// what moves rows against each other.  All outputs of a row then have the same weights.
template <class T, class C>
bool slides(const SampleJob<T, C>& job) {
  if (job.from != From::matrix || job.out_dimensions != job.dimensions || !has_loop(job) || job.order == 0)
    return false;
  const std::uint32_t last = job.dimensions - 1;
  for (std::uint32_t d = 0; d <= last; ++d)
    if (job.matrix[d * kMaxDimensions + last] != (d == last ? 1 : 0)) return false;
  return true;
}

/// Outputs [first, last) of a row: those with all their neighbours, which it makes.  `memory`: twice as many C and 4.
template <class T, class C>
std::pair<std::uint64_t, std::uint64_t> slide(const SampleJob<T, C>& job, const Row<T, C>& row, std::uint64_t first,
                                              std::uint64_t last, C* memory, [[maybe_unused]] Isa isa) {
  const std::pair<std::uint64_t, std::uint64_t> none{first, first};
  const std::uint32_t axes = job.dimensions, along = axes - 1;
  Block at_first;
  at_first.count = 1;
  row.find(first, at_first);
  for (std::uint32_t d = 0; d < along; ++d) {
    const Within w = within(job, d);
    if (!(at_first.at[d][0] >= w.low && at_first.at[d][0] < w.high)) return none;
  }
  const Within w = within(job, along);
  const double x = at_first.at[along][0];
  if (!(w.low < w.high) || !(std::abs(x) < 1e15)) return none;
  const double skipped = std::max(std::ceil(w.low - x), 0.0), end = std::ceil(w.high - x);
  const auto length = static_cast<double>(last - first);
  if (skipped >= std::min(end, length)) return none;
  const std::uint64_t begin = first + static_cast<std::uint64_t>(skipped);
  const std::uint64_t count = static_cast<std::uint64_t>(std::min(end, length) - skipped);
  at_first.at[along][0] = x + skipped;
  Taps<C, 0> taps[3];
  for (std::uint32_t d = 0; d < axes; ++d)
    taps[d].find(job.order, at_first.at[d][0], job.shape[d], job.origin[d], job.stride[d], job.mode);
  const std::size_t width = static_cast<std::size_t>(job.order) + 1;
  C* const sums = memory;
  C* const made = memory + count + width - 1;
  WeighedRows<T, C> some;
  bool more = false;
  const auto add = [&](std::int64_t from, C weight) {
    some.row[some.count] = job.in + from + taps[along].offset[0];
    some.weight[some.count++] = weight;
    if (some.count < 4) return;
    PENSTOCK_RUN(weigh_rows, some, count + width - 1, more, sums);
    some.count = 0, more = true;
  };
  for (std::size_t k = 0; k < width; ++k) {
    if (axes == 2) {
      add(taps[0].offset[k], taps[0].weight[k]);
      continue;
    }
    for (std::size_t i = 0; i < width; ++i)
      add(taps[0].offset[k] + taps[1].offset[i], taps[0].weight[k] * taps[1].weight[i]);
  }
  if (some.count > 0) PENSTOCK_RUN(weigh_rows, some, count + width - 1, more, sums);
  WeighedRows<C, C> beside;
  for (std::size_t k = 0; k < width; ++k) beside.row[k] = sums + k, beside.weight[k] = taps[along].weight[k];
  beside.count = width;
  PENSTOCK_RUN(weigh_rows, beside, count, false, made);
  PENSTOCK_RUN(round_out, made, count, job.out + row.number + begin);
  return {begin, begin + count};
}

template <class T, class C, class Element>
void run_one_by_one(const SampleJob<T, C>& job, const Element& element, const Block& block, T* out) {
  for (std::size_t i = 0; i < block.count; ++i) {
    double at[kMaxDimensions];
    for (std::uint32_t d = 0; d < job.dimensions; ++d) at[d] = block.at[d][i];
    out[i] = element.any(at);
  }
}

}  // namespace

template <class T, class C>
Status run_on_cpu(const SampleJob<T, C>& job, Job& threads, Isa isa) {
  if (job.outputs == 0) return {};
  const std::uint64_t width = job.out_extent[job.out_dimensions - 1], rows = job.outputs / width;
  const std::uint64_t part = std::min<std::uint64_t>(width, tuning::kTaskElements), parts = div_up(width, part);
  const std::uint64_t together = std::max<std::uint64_t>(tuning::kTaskElements / part, 1);
  const bool loop = has_loop(job), sliding = slides(job);
  Status status;
  const bool fits = with_element(job, [&](const auto& element) {
    status = threads.for_each(div_up(rows * parts, together), true, [&](std::uint64_t task) -> Status {
      Block block;
      Bytes& memory = threads.worker().scratch.a;
      if (sliding) PENSTOCK_TRY(memory.resize_discard((2 * part + 4) * sizeof(C)));
      for (std::uint64_t i = task * together; i < std::min((task + 1) * together, rows * parts); ++i) {
        const Row row(job, i / parts);
        const std::uint64_t first = i % parts * part, last = std::min(first + part, width);
        std::pair<std::uint64_t, std::uint64_t> made{first, first};
        if constexpr (std::is_floating_point_v<C>)
          if (sliding) made = slide(job, row, first, last, reinterpret_cast<C*>(memory.data()), isa);
        for (std::uint64_t x = first; x < last; x += block.count) {
          if (x == made.first) x = made.second;
          if (x >= last) break;
          block.count = std::min<std::uint64_t>(kBlock, (x < made.first ? made.first : last) - x);
          row.find(x, block);
          T* const out = job.out + row.number + x;
          if (!loop || !run_loop(job, block, out, isa)) run_one_by_one(job, element, block, out);
        }
      }
      return {};
    });
  });
  return fits ? status : unfit();
}

namespace {

/// What the outputs along one axis are made of: taps of each, [tap][output].
template <class C>
struct Axis {
  std::vector<std::int64_t> from;
  std::vector<C> weight;
  std::vector<C> beyond;      ///< weight of the constant
  std::vector<bool> outside;  ///< there is nothing but the constant

  template <class T>
  Axis(const SampleJob<T, C>& job, std::uint32_t d) {
    const std::uint64_t n = job.out_extent[d];
    const std::size_t taps = static_cast<std::size_t>(job.order) + 1;
    from.resize(taps * n), weight.resize(taps * n), beyond.resize(n), outside.resize(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      double x = job.offset[d];
      x += job.matrix[d * kMaxDimensions + d] * static_cast<double>(static_cast<std::int64_t>(i) + job.out_origin[d]);
      outside[i] = !job.fold_one(d, x);
      if (outside[i]) continue;
      if constexpr (std::is_integral_v<C>) {
        const std::int64_t at = element_at(static_cast<std::int64_t>(std::floor(x + 0.5)),
                                           static_cast<std::int64_t>(job.shape[d]), job.mode);
        outside[i] = at < 0;
        if (at >= 0) from[i] = (at - job.origin[d]) * static_cast<std::int64_t>(job.stride[d]);
      } else {
        Taps<C, 0> found;
        found.find(job.order, x, job.shape[d], job.origin[d], job.stride[d], job.mode);
        beyond[i] = found.beyond;
        for (std::size_t k = 0; k < taps; ++k) from[k * n + i] = found.offset[k], weight[k * n + i] = found.weight[k];
      }
    }
  }
};

/// The last axis, counted from the first element that any output of a row needs.
template <class C>
struct LastAxis {
  std::int64_t first = 0;
  std::size_t width = 0;  ///< of the row that is needed
  std::vector<std::int32_t> from;
  bool fits = true;

  explicit LastAxis(const Axis<C>& axis) {
    const std::size_t n = axis.outside.size();
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = -1;
    for (std::size_t i = 0; i < axis.from.size(); ++i)
      if (!axis.outside[i % n]) least = std::min(least, axis.from[i]), most = std::max(most, axis.from[i]);
    from.resize(axis.from.size());
    if (most < 0) return;
    first = least;
    width = static_cast<std::size_t>(most - least) + 1;
    fits = width <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    for (std::size_t i = 0; fits && i < from.size(); ++i)
      from[i] = axis.outside[i % n] ? 0 : static_cast<std::int32_t>(axis.from[i] - least);
  }
};

/// The rows of the input that a row of the output is made of; nothing: it is the constant.
template <class T, class C>
class RowsOf {
 public:
  RowsOf(const SampleJob<T, C>& job, const std::vector<Axis<C>>& axes, std::uint64_t row) : job_(job), axes_(axes) {
    for (std::uint32_t d = job.dimensions - 1; d-- > 0; row /= job.out_extent[d]) {
      at_[d] = row % job.out_extent[d];
      outside = outside || axes[d].outside[at_[d]];
      if constexpr (std::is_floating_point_v<C>) inside_weight *= C(1) - axes[d].beyond[at_[d]];
    }
    more_ = !outside;
  }
  bool outside = false;
  C inside_weight = C(1);

  /// The next one; false: there are no more.  Those of no weight are left out.
  bool next(std::int64_t& from, C& weight) {
    while (more_) {
      from = 0, weight = C(1);
      for (std::uint32_t d = 0; d + 1 < job_.dimensions; ++d) {
        const std::size_t i = tap_[d] * job_.out_extent[d] + at_[d];
        from += axes_[d].from[i];
        if constexpr (std::is_floating_point_v<C>) weight *= axes_[d].weight[i];
      }
      step();
      if (weight != C(0)) return true;
    }
    return false;
  }

 private:
  void step() {
    for (std::uint32_t d = job_.dimensions - 1; d-- > 0; tap_[d] = 0)
      if (++tap_[d] <= static_cast<std::size_t>(job_.order)) return;
    more_ = false;
  }
  const SampleJob<T, C>& job_;
  const std::vector<Axis<C>>& axes_;
  std::uint64_t at_[kMaxDimensions] = {};
  std::size_t tap_[kMaxDimensions] = {};
  bool more_ = true;
};

/// One row of the output; `memory`: as many C as a row of the input and one of the output have.
template <class T, class C>
void run_grid_row(const SampleJob<T, C>& job, const std::vector<Axis<C>>& axes, const LastAxis<C>& along,
                  std::uint64_t row, C* memory, [[maybe_unused]] Isa isa) {
  const Axis<C>& last = axes.back();
  const std::size_t n = last.outside.size();
  T* const out = job.out + row * n;
  RowsOf<T, C> rows(job, axes, row);
  std::int64_t from = 0;
  if constexpr (std::is_integral_v<C>) {
    C weight = C(0);
    const bool there = rows.next(from, weight);
    for (std::size_t x = 0; x < n; ++x)
      out[x] = there && !last.outside[x] ? job.in[from + along.first + along.from[x]] : job.constant;
  } else {
    if (rows.outside || along.width == 0) {
      std::fill_n(out, n, nearest<T>(job.constant));
      return;
    }
    C* const sums = memory;
    C* const made = memory + along.width;
    WeighedRows<T, C> some;
    bool more = false;
    const auto flush = [&] {
      PENSTOCK_RUN(weigh_rows, some, along.width, more, sums);
      some.count = 0;
      more = true;
    };
    for (C weight; rows.next(from, weight);) {
      some.row[some.count] = job.in + from + along.first;
      some.weight[some.count++] = weight;
      if (some.count == 4) flush();
    }
    if (some.count > 0 || !more) flush();
    PENSTOCK_RUN(pick_along, sums, along.from.data(), last.weight.data(), static_cast<std::size_t>(job.order) + 1, n,
                 made);
    if (job.mode == Mode::grid_constant)
      for (std::size_t x = 0; x < n; ++x)
        made[x] += (C(1) - rows.inside_weight * (C(1) - last.beyond[x])) * job.constant;
    for (std::size_t x = 0; x < n; ++x)
      if (last.outside[x]) made[x] = job.constant;
    PENSTOCK_RUN(round_out, made, n, out);
  }
}

}  // namespace

template <class T, class C>
Status run_grid_on_cpu(const SampleJob<T, C>& job, Job& threads, Isa isa) {
  if (job.outputs == 0) return {};
  std::vector<Axis<C>> axes;
  for (std::uint32_t d = 0; d < job.dimensions; ++d) axes.emplace_back(job, d);
  const LastAxis<C> along(axes.back());
  if (!along.fits) return run_on_cpu(job, threads, isa);
  const std::uint64_t width = axes.back().outside.size(), rows = job.outputs / width;
  const std::uint64_t together = std::max<std::uint64_t>(tuning::kTaskElements / width, 1);
  return threads.for_each(div_up(rows, together), true, [&](std::uint64_t task) -> Status {
    Bytes& memory = threads.worker().scratch.a;
    PENSTOCK_TRY(memory.resize_discard((along.width + width) * sizeof(C)));
    for (std::uint64_t row = task * together; row < std::min((task + 1) * together, rows); ++row)
      run_grid_row(job, axes, along, row, reinterpret_cast<C*>(memory.data()), isa);
    return {};
  });
}

#define PENSTOCK_INSTANTIATE(T, C)                               \
  template Status run_on_cpu(const SampleJob<T, C>&, Job&, Isa); \
  template Status run_grid_on_cpu(const SampleJob<T, C>&, Job&, Isa);
PENSTOCK_SAMPLE_TYPES(PENSTOCK_INSTANTIATE)

}  // namespace penstock::sample

// Reductions on the CPU: the same accumulators, with loops over what is contiguous.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/checked.hpp"
#include "ops/isa.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/tuning.hpp"

#define PENSTOCK_ISA baseline
#include "ops/reduce/loops.hpp"
#ifdef PENSTOCK_HAVE_ISAS
PENSTOCK_BEGIN_AVX2
#define PENSTOCK_ISA avx2
#include "ops/reduce/loops.hpp"
PENSTOCK_END_ISA
PENSTOCK_BEGIN_AVX512
#define PENSTOCK_ISA avx512
#include "ops/reduce/loops.hpp"
PENSTOCK_END_ISA
#endif

namespace penstock::reduce {
namespace {

/// Bytes of outputs whose accumulators stay in the first-level cache.
constexpr std::uint64_t kTogetherBytes = 16 << 10;

#ifdef PENSTOCK_HAVE_ISAS
#define PENSTOCK_RUN(...) \
  (isa == Isa::avx512 ? avx512::__VA_ARGS__ : isa == Isa::avx2 ? avx2::__VA_ARGS__ : baseline::__VA_ARGS__)
#else
#define PENSTOCK_RUN(...) baseline::__VA_ARGS__
#endif

template <class Op>
typename Op::Held reduce_run(const typename Op::In* in, std::uint64_t n, typename Op::Held held, double mean,
                             [[maybe_unused]] Isa isa) {
  using T = typename Op::In;
  if constexpr (std::is_same_v<Op, Sum<T>> && std::is_integral_v<T> && sizeof(T) <= 2)
    return PENSTOCK_RUN(sum_run<T>(in, n, held));
  else
    return PENSTOCK_RUN(reduce_run<Op>(in, n, held, mean));
}
template <class Op>
void reduce_rows(const typename Op::In* in, std::uint64_t rows, std::uint64_t stride, std::uint64_t width,
                 typename Op::Held* held, const double* means, [[maybe_unused]] Isa isa) {
  PENSTOCK_RUN(reduce_rows<Op>(in, rows, stride, width, held, means));
}

/// Calls f(offset, n) for runs of elements [first, last) along the innermost reduced dimension.
template <class F>
void for_runs(const BoxShape& shape, std::uint64_t first, std::uint64_t last, const F& f) {
  const std::uint64_t row = shape.reduced == 0 ? 1 : shape.reduced_extent[shape.reduced - 1];
  while (first < last) {
    const std::uint64_t n = std::min(row - first % row, last - first);
    f(shape.offset(first), n);
    first += n;
  }
}

/// Elements [first, last) of each of some outputs.
struct Part {
  std::uint64_t first, last;
  std::uint32_t number;
};

/// Outputs side by side in memory.
template <class Op>
void reduce_columns(const ReduceJob<Op>& job, std::uint64_t output, std::uint64_t width, const Part& part, Isa isa) {
  std::uint64_t from = 0, target = 0;
  job.shape.locate(output, from, target);
  const std::uint64_t stride = job.shape.reduced == 0 ? 0 : job.shape.reduced_stride[job.shape.reduced - 1];
  auto* const held = job.into.held + job.into.index(target, part.number);
  const double* const means = job.means == nullptr ? nullptr : job.means + target;
  for_runs(job.shape, part.first, part.last, [&](std::uint64_t offset, std::uint64_t n) {
    reduce_rows<Op>(job.in + from + offset, n, stride, width, held, means, isa);
  });
}

/// One output, whose elements are side by side.
template <class Op>
void reduce_row(const ReduceJob<Op>& job, std::uint64_t output, const Part& part, Isa isa) {
  std::uint64_t from = 0, target = 0;
  job.shape.locate(output, from, target);
  const double mean = job.means == nullptr ? 0 : job.means[target];
  const std::uint64_t stride = job.shape.reduced == 0 ? 1 : job.shape.reduced_stride[job.shape.reduced - 1];
  auto& held = job.into.held[job.into.index(target, part.number)];
  for_runs(job.shape, part.first, part.last, [&](std::uint64_t offset, std::uint64_t n) {
    const auto* in = job.in + from + offset;
    if (stride == 1) {
      held = reduce_run<Op>(in, n, held, mean, isa);
      return;
    }
    for (std::uint64_t k = 0; k < n; ++k) held = Op::with(held, in[k * stride], mean);
  });
}

template <class Op>
Status reduce_box(const ReduceJob<Op>& job, Job& threads) {
  const BoxShape& shape = job.shape;
  const bool columns = shape.kept > 0 && shape.kept_stride[shape.kept - 1] == 1;
  const std::uint64_t row = columns ? shape.kept_extent[shape.kept - 1] : shape.outputs;
  const Isa isa = best_isa();
  const std::uint64_t width = columns ? std::min(row, kTogetherBytes / sizeof(typename Op::Held))
                                      : std::clamp<std::uint64_t>(tuning::kTaskElements / shape.count, 1, row);
  const std::uint64_t strips = div_up(row, width), groups = shape.outputs / row * strips;
  return threads.for_each(groups * job.into.parts, true, [&](std::uint64_t task) -> Status {
    const auto part = static_cast<std::uint32_t>(task % job.into.parts);
    const std::uint64_t group = task / job.into.parts, column = group % strips * width;
    const std::uint64_t output = group / strips * row + column, here = std::min(width, row - column);
    const std::uint64_t each = div_up(shape.count, job.into.parts);
    const std::uint64_t first = std::min(part * each, shape.count);
    const Part elements{first, std::min(first + each, shape.count), part};
    if (columns) {
      reduce_columns(job, output, here, elements, isa);
      return {};
    }
    for (std::uint64_t i = 0; i < here; ++i) reduce_row(job, output + i, elements, isa);
    return {};
  });
}

}  // namespace

Status add_on_cpu(const BoxPass& box, Job& threads) {
  Status status;
  with_pass(box.pass, box.dtype, [&]<class Op>(TypeTag<Op>) { status = reduce_box(job_of<Op>(box), threads); });
  return status;
}

}  // namespace penstock::reduce

// Reductions on the CPU: the same accumulators, with loops over what is contiguous.
#include <algorithm>
#include <vector>

#include "core/checked.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/tuning.hpp"

namespace penstock::reduce {
namespace {

/// Outputs whose accumulators stay in the first-level cache.
constexpr std::uint64_t kTogether = 512;
/// Sums side by side, so that none waits for the one before it.
constexpr std::size_t kLanes = 16;

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

/// Outputs side by side in memory.
template <class Op>
void reduce_columns(const ReduceJob<Op>& job, std::uint64_t output, std::uint64_t width, std::uint64_t first,
                    std::uint64_t last, std::uint32_t part) {
  std::uint64_t from = 0, target = 0;
  job.shape.locate(output, from, target);
  const std::uint64_t stride = job.shape.reduced == 0 ? 0 : job.shape.reduced_stride[job.shape.reduced - 1];
  typename Op::Held held[kTogether];
  double means[kTogether] = {};
  for (std::uint64_t x = 0; x < width; ++x) {
    held[x] = job.into.held[job.into.index(target + x, part)];
    if (job.means != nullptr) means[x] = job.means[target + x];
  }
  for_runs(job.shape, first, last, [&](std::uint64_t offset, std::uint64_t n) {
    const auto* row = job.in + from + offset;
    for (std::uint64_t k = 0; k < n; ++k, row += stride)
      for (std::uint64_t x = 0; x < width; ++x) Op::add(held[x], row[x], means[x]);
  });
  for (std::uint64_t x = 0; x < width; ++x) job.into.held[job.into.index(target + x, part)] = held[x];
}

/// One output, whose elements are side by side.
template <class Op>
void reduce_row(const ReduceJob<Op>& job, std::uint64_t output, std::uint64_t first, std::uint64_t last,
                std::uint32_t part) {
  std::uint64_t from = 0, target = 0;
  job.shape.locate(output, from, target);
  const double mean = job.means == nullptr ? 0 : job.means[target];
  const std::uint64_t stride = job.shape.reduced == 0 ? 1 : job.shape.reduced_stride[job.shape.reduced - 1];
  typename Op::Held held[kLanes];
  std::fill_n(held, kLanes, Op::nothing());
  for_runs(job.shape, first, last, [&](std::uint64_t offset, std::uint64_t n) {
    const auto* in = job.in + from + offset;
    std::uint64_t k = 0;
    if (stride == 1)
      for (; k + kLanes <= n; k += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane) Op::add(held[lane], in[k + lane], mean);
    for (; k < n; ++k) Op::add(held[0], in[k * stride], mean);
  });
  auto& into = job.into.held[job.into.index(target, part)];
  for (const auto& lane : held) Op::join(into, lane);
}

template <class Op>
Status reduce_box(const ReduceJob<Op>& job, Job& threads) {
  const BoxShape& shape = job.shape;
  const bool columns = shape.kept > 0 && shape.kept_stride[shape.kept - 1] == 1;
  const std::uint64_t row = columns ? shape.kept_extent[shape.kept - 1] : shape.outputs;
  const std::uint64_t width =
      columns ? std::min(row, kTogether) : std::clamp<std::uint64_t>(tuning::kTaskElements / shape.count, 1, row);
  const std::uint64_t strips = div_up(row, width), groups = shape.outputs / row * strips;
  return threads.for_each(groups * job.into.parts, true, [&](std::uint64_t task) -> Status {
    const auto part = static_cast<std::uint32_t>(task % job.into.parts);
    const std::uint64_t group = task / job.into.parts, column = group % strips * width;
    const std::uint64_t output = group / strips * row + column, here = std::min(width, row - column);
    const std::uint64_t each = div_up(shape.count, job.into.parts);
    const std::uint64_t first = std::min(part * each, shape.count), last = std::min(first + each, shape.count);
    if (columns) {
      reduce_columns(job, output, here, first, last, part);
      return {};
    }
    for (std::uint64_t i = 0; i < here; ++i) reduce_row(job, output + i, first, last, part);
    return {};
  });
}

}  // namespace

Status add_on_cpu(const BoxPass& box, Job& threads) {
  Status status;
  with_pass(box.pass, box.dtype, [&]<class Op>(TypeTag<Op>) {
    const ReduceJob<Op> job{box.shape, static_cast<const typename Op::In*>(box.in), accumulators<Op>(box), box.means};
    status = reduce_box(job, threads);
  });
  return status;
}

}  // namespace penstock::reduce

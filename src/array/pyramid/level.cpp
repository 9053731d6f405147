#include "array/pyramid/level.hpp"

#include <algorithm>

#include "array/pyramid_plan.hpp"
#include "array/tiles/walk.hpp"
#include "core/checked.hpp"
#include "exec/budget.hpp"
#include "exec/job.hpp"

namespace penstock {
namespace {

using namespace pyramid;

/// Coarse elements that are worth a task of their own.
constexpr std::uint64_t kTask = 4096;

/// Fine elements that a box of the coarse level is made of.
Region fine_region(const Region& box, const Shape& fine, const std::vector<std::uint32_t>& factors, bool wide) {
  Region region;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const auto factor = static_cast<std::int64_t>(factors[d]), n = static_cast<std::int64_t>(fine[d]);
    const std::int64_t reach = wide ? gaussian_reach(factors[d]) : 0;
    const std::int64_t first = static_cast<std::int64_t>(box[d].start) * factor;
    std::int64_t low = first - reach, high = first + static_cast<std::int64_t>(box[d].count) * factor - 1 + reach;
    if (wide && high >= n) low = std::min(low, 2 * n - 1 - high);  // what is mirrored there
    if (wide && low < 0) high = std::max(high, -1 - low);
    low = std::max<std::int64_t>(low, 0), high = std::min(high, n - 1);
    region.push_back({static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high - low + 1), 1});
  }
  return region;
}

LevelShape shape_of_step(const Region& fine, const Region& coarse, const Shape& whole,
                         const std::vector<std::uint32_t>& factors) {
  LevelShape shape;
  shape.rank = static_cast<std::uint32_t>(coarse.size());
  for (std::size_t d = 0; d < coarse.size(); ++d) {
    shape.fine[d] = fine[d].count;
    shape.origin[d] = fine[d].start;
    shape.whole[d] = whole[d];
    shape.coarse[d] = coarse[d].count;
    shape.coarse_origin[d] = coarse[d].start;
    shape.factor[d] = factors[d];
  }
  return shape;
}

}  // namespace

Status make_level(const Array& fine, Array& coarse, const std::vector<std::uint32_t>& factors, const LevelMethod& how,
                  const Options& options, Report& report) {
  const Dataset from = fine.dataset(), to = coarse.dataset();
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(to.shape));
  if (elements == 0) return {};
  const bool wide = how.method == Downsample::gaussian;
  TileWork work;
  work.what = "pyramid";
  work.in_dtype = work.out_dtype = to.dtype;
  work.source_shape = from.shape;
  PENSTOCK_ASSIGN(work.source_chunks, from.inner_chunk_shape());
  work.out_shape = to.shape;
  work.out_objects = to.chunk_shape;
  work.needs = [&](const Region& tile) { return fine_region(tile, from.shape, factors, wide); };
  PENSTOCK_ASSIGN(work.min_read_bytes, min_read_bytes(fine, how.device, options));
  PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(work, options));
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  Job job(options, work.what, 0, allowed.threads);
  TileSteps steps;
  steps.read = [&](const Region& box, const TileMemory& into, const Options& inner) {
    return fine.read(box, into.view, inner, into.arena);
  };
  steps.make = [&](std::uint64_t, const Region& box, const TensorView& in, const Region& tile,
                   const TensorView& out) -> Status {
    const LevelShape shape = shape_of_step(box, tile, from.shape, factors);
    PENSTOCK_ASSIGN(const std::uint64_t count, out.elements());
    if (how.device.type != Device::Type::cpu)
      return level_on_cuda(how.method, to.dtype, shape, in.data, out.data, count, out.stream);
    Status status;
    with_level(how.method, to.dtype, shape, in.data, out.data, [&](const auto& element) {
      status = job.run([&] {
        return job.for_each(div_up(count, kTask), true, [&](std::uint64_t task) -> Status {
          const std::uint64_t last = std::min((task + 1) * kTask, count);
          for (std::uint64_t i = task * kTask; i < last; ++i) element(i);
          return {};
        });
      });
    });
    return status;
  };
  steps.write = [&](const Region& tile, const TensorView& made, const Options& inner) {
    return coarse.write(tile, made, inner);
  };
  PENSTOCK_ASSIGN(Report part, walk_tiles(work, plan, steps, how.device, options));
  const std::uint64_t decoded = report.decoded_bytes + elements * to.dtype.size_bytes, peak = report.peak_host_bytes;
  const std::uint64_t part_peak = part.peak_host_bytes;
  report.merge(part);
  report.decoded_bytes = decoded;
  report.peak_host_bytes = std::max(peak, part_peak);
  return {};
}

}  // namespace penstock

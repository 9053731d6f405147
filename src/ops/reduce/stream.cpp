// Reductions of what is in a store, tile by tile.
#include <fmt/format.h>

#include <algorithm>

#include "array/tiles/walk.hpp"
#include "core/guard.hpp"
#include "exec/budget.hpp"
#include "ops/common.hpp"
#include "ops/reduce/rows.hpp"
#include "penstock/ops.hpp"

namespace penstock {
namespace {

using reduce::Reducer;
using reduce::Reduction;

/// The axes that are reduced; none given: all.
Result<std::vector<bool>> reduced_axes(std::span<const std::size_t> axes, std::size_t rank) {
  std::vector<bool> reduced(rank, axes.empty());
  for (const std::size_t axis : axes) {
    if (axis >= rank) return bad_argument(fmt::format("axis {} of an array of {} dimensions", axis, rank));
    reduced[axis] = true;
  }
  return reduced;
}

/// The boxes that are read.
Result<TileWork> boxes_of(const Array& array, std::string_view what, Device device, const Options& options) {
  const Dataset dataset = array.dataset();
  TileWork work;
  work.what = what;
  work.in_dtype = work.out_dtype = dataset.dtype;
  work.source_shape = work.out_shape = dataset.shape;
  PENSTOCK_ASSIGN(work.source_chunks, dataset.inner_chunk_shape());
  work.out_objects = work.source_chunks;
  work.makes = work.writes = false;
  work.needs = [](const Region& tile) { return tile; };
  PENSTOCK_ASSIGN(work.min_read_bytes, min_read_bytes(array, device, options));
  return work;
}

}  // namespace

Result<Tensor> reduce_array(const Array& from, std::string_view what, std::span<const std::size_t> axes, Device device,
                            const Options& options, Report* report) {
  return guarded([&]() -> Result<Tensor> {
    const Dataset dataset = from.dataset();
    PENSTOCK_ASSIGN(const Reduction reduction, reduce::parse_reduction(what));
    PENSTOCK_ASSIGN(const std::vector<bool> reduced, reduced_axes(axes, dataset.rank()));
    PENSTOCK_TRY(reduce::check_reduction(reduction, dataset.shape, reduced));
    if (!is_operand(dataset.dtype))
      return Error(ErrorCode::unsupported, fmt::format("no {} of elements of type {}", what, dataset.dtype.name()));
    Reducer reducer(reduction, {dataset.dtype, dataset.shape}, reduced);
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, reducer.bytes()));
    Options rest = options;
    rest.budget_bytes = std::max<std::uint64_t>(allowed.budget_bytes - reducer.bytes(), 1);
    Stream stream;
    if (device.type != Device::Type::cpu) {
      PENSTOCK_ASSIGN(stream, Stream::create(device));
    }
    PENSTOCK_ASSIGN(const auto memory, working_memory(device, options));
    PENSTOCK_ASSIGN(const TileWork boxes, boxes_of(from, what, device, rest));
    PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(boxes, rest));
    Job job(options, what, 0, allowed.threads);
    const Workspace work{&job, stream, memory};
    TileSteps steps;
    steps.read = [&](const Region& box, const TileMemory& into, const Options& inner) {
      return from.read(box, into.view, inner, into.arena);
    };
    steps.make = [&](std::uint64_t, const Region& box, const TensorView& in, const Region&,
                     const TensorView&) -> Status {
      PENSTOCK_TRY(job.run([&] { return reducer.add({in, box}, work); }));
      return stream.synchronize();
    };
    Report sum;
    sum.operation = what;
    PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(dataset.shape));
    for (;;) {
      PENSTOCK_ASSIGN(const bool again, reducer.next_pass(work));
      if (!again) break;
      if (elements == 0) continue;
      PENSTOCK_ASSIGN(const Report pass, walk_tiles(boxes, plan, steps, device, rest));
      sum.wall_seconds += pass.wall_seconds;
      sum.merge(pass);
    }
    PENSTOCK_ASSIGN(Tensor made, Tensor::empty(reducer.output().dtype, reducer.output().shape, stream, options.memory));
    PENSTOCK_ASSIGN(const std::uint64_t bytes, made.view().bytes());
    if (bytes > 0) PENSTOCK_TRY(reducer.finish(made.view().data, work));
    PENSTOCK_ASSIGN(made, made.to(Stream()));
    (device.type == Device::Type::cpu ? sum.peak_host_bytes : sum.peak_device_bytes) += reducer.bytes();
    sum.stages.push_back({std::string(what), device.name(), "where the boxes were read to", bytes, 0});
    if (report != nullptr) *report = std::move(sum);
    return made;
  });
}

}  // namespace penstock

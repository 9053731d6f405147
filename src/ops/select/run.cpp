// Statistics of what is in memory, and of what is in a store.
#include <algorithm>

#include "array/tiles/walk.hpp"
#include "core/guard.hpp"
#include "exec/budget.hpp"
#include "ops/select/statistics.hpp"

namespace penstock {
namespace {

using select::Statistician;

/// Elements of a view with gaps that are packed at once.
constexpr std::uint64_t kPackedElements = std::uint64_t{1} << 22;

/// Calls f with packed views that hold all elements of `view`.
template <class F>
Status for_packed(const TensorView& view, const Workspace& work, const F& f) {
  if (view.is_contiguous()) return f(view);
  PENSTOCK_ASSIGN(const std::uint64_t elements, view.elements());
  if (elements <= kPackedElements) {
    PENSTOCK_ASSIGN(const std::uint64_t bytes, view.bytes());
    PENSTOCK_ASSIGN(const Buffer memory, work.scratch(bytes));
    PENSTOCK_ASSIGN(const TensorView packed, TensorView::packed(memory.data(), view.dtype, view.shape, work.stream));
    PENSTOCK_TRY(copy_elements(view, packed));
    PENSTOCK_TRY(f(packed));
    return work.stream.synchronize();
  }
  const auto longest = static_cast<std::size_t>(std::ranges::max_element(view.shape) - view.shape.begin());
  const auto half = static_cast<std::int64_t>(view.shape[longest] / 2);
  for (const Slice part : {Slice{{}, half, {}}, Slice{half, {}, {}}}) {
    std::vector<Index> indices(longest, Slice{});
    indices.emplace_back(part);
    PENSTOCK_ASSIGN(const TensorView piece, view.slice(indices));
    PENSTOCK_TRY(for_packed(piece, work, f));
  }
  return {};
}

}  // namespace

Result<Statistics> statistics(const TensorView& elements, const StatisticsRequest& request, const Options& options) {
  return guarded([&]() -> Result<Statistics> {
    PENSTOCK_TRY(elements.check());
    PENSTOCK_ASSIGN(const std::uint64_t count, elements.elements());
    const bool on_device = elements.device.type != Device::Type::cpu;
    PENSTOCK_ASSIGN(Statistician s, Statistician::make(elements.dtype, count, request, on_device));
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
    PENSTOCK_ASSIGN(const auto memory, working_memory(elements.device, options));
    Job job(options, "statistics", count * elements.dtype.size_bytes, allowed.threads);
    const Workspace work{&job, elements.stream, memory};
    const Status passed = job.run([&]() -> Status {
      while (s.next_pass()) {
        PENSTOCK_TRY(for_packed(elements, work, [&](const TensorView& part) { return s.add(part, work); }));
        PENSTOCK_TRY(s.end_pass());
      }
      return {};
    });
    if (!passed) return passed.error();
    return s.result();
  });
}

Result<Statistics> statistics(const Array& array, const StatisticsRequest& request, Device device,
                              const Options& options, Report* report) {
  return guarded([&]() -> Result<Statistics> {
    const Dataset dataset = array.dataset();
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(dataset.shape));
    PENSTOCK_ASSIGN(Statistician s, Statistician::make(dataset.dtype, count, request, false));
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
    PENSTOCK_ASSIGN(const auto memory, working_memory(device, options));
    Job job(options, "statistics", 0, allowed.threads);
    TileWork work;
    work.what = "statistics";
    work.in_dtype = work.out_dtype = dataset.dtype;
    work.source_shape = work.out_shape = dataset.shape;
    PENSTOCK_ASSIGN(work.source_chunks, dataset.inner_chunk_shape());
    work.out_objects = work.source_chunks;
    work.makes = work.writes = false;
    PENSTOCK_ASSIGN(work.min_read_bytes, min_read_bytes(array, device, options));
    work.needs = [](const Region& tile) { return tile; };
    PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(work, options));
    TileSteps steps;
    steps.read = [&](const Region& box, const TileMemory& into, const Options& inner) {
      return array.read(box, into.view, inner, into.arena);
    };
    steps.make = [&](std::uint64_t, const Region&, const TensorView& in, const Region&, const TensorView&) {
      const Workspace place{&job, in.stream, memory};
      return job.run([&] { return s.add(in, place); });
    };
    Report sum;
    while (s.next_pass()) {
      PENSTOCK_ASSIGN(const Report pass, walk_tiles(work, plan, steps, device, options));
      sum.operation = pass.operation;
      sum.wall_seconds += pass.wall_seconds;
      sum.merge(pass);
      PENSTOCK_TRY(s.end_pass());
    }
    if (report != nullptr) *report = std::move(sum);
    return s.result();
  });
}

}  // namespace penstock

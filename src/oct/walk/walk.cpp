#include "oct/walk/walk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"
#include "core/units.hpp"
#include "exec/budget.hpp"

namespace penstock::oct {
namespace {

TileWork work_of(const Source& source, const Pass& pass, bool writes) {
  TileWork work;
  work.what = pass.what;
  work.in_dtype = work.out_dtype = DType::float32();
  work.source_shape = source.shape;
  work.source_chunks = source.chunks;
  work.out_shape = pass.shape;
  work.out_objects = pass.objects;
  for (std::size_t d = 0; d < pass.shape.size(); ++d)
    work.out_objects[d] = std::max<std::uint64_t>(std::min(pass.objects[d], pass.shape[d]), 1);
  work.min_read_bytes = source.min_read_bytes;
  work.makes = work.writes = writes;
  work.needs = pass.needs ? pass.needs : [](const Region& tile) { return tile; };
  work.scratch_bytes = pass.scratch_bytes;
  return work;
}

Status walk(const Source& source, const Pass& pass,
            const std::function<Result<Report>(const Region&, const TensorView&, const Options&)>& write, Device device,
            const Options& given) {
  const Options options = what_is_left(given);
  if (std::ranges::find(pass.shape, 0U) != pass.shape.end()) return {};
  const TileWork work = work_of(source, pass, static_cast<bool>(write));
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(work, options));
  PENSTOCK_ASSIGN(const auto memory, working_memory(device, options));
  Job job(options, pass.what, 0, allowed.threads);
  TileSteps steps;
  steps.read = [&](const Region& region, const TileMemory& into, const Options& inner) {
    return source.read(region, into.view, inner);
  };
  steps.make = [&](std::uint64_t, const Region& box, const TensorView& in, const Region& tile,
                   const TensorView& out) -> Status {
    const Region needed = work.needs(tile);
    PENSTOCK_ASSIGN(const TensorView part, part_of_box(in, box, needed));
    const Workspace place{&job, in.stream, memory};
    return job.run([&] { return pass.make({part, needed}, {out, tile}, place); });
  };
  if (write)
    steps.write = [&](const Region& tile, const TensorView& made, const Options& inner) {
      return write(tile, made, inner);
    };
  PENSTOCK_TRY(walk_tiles(work, plan, steps, device, options));
  return {};
}

}  // namespace

Result<Source> source_of(const Volume& volume, const std::string& path, Device device, const Options& options) {
  Source source;
  source.shape = volume.shape;
  source.chunks = volume.chunks;
  PENSTOCK_ASSIGN_IN(source.min_read_bytes, min_read_bytes(volume.array, device, options), path);
  source.read = [&volume, path](const Region& region, const TensorView& into, const Options& inner) -> Result<Report> {
    PENSTOCK_ASSIGN_IN(Report report, volume.array.read(region, into, inner), path);
    return report;
  };
  return source;
}

Status look_at(const Source& source, const Pass& pass, Device device, const Options& options) {
  return walk(source, pass, {}, device, options);
}

Status make_volume(const Source& source, const Pass& pass, NewVolume& to, const std::string& path, Device device,
                   const Options& options) {
  const auto write = [&](const Region& tile, const TensorView& made, const Options& inner) -> Result<Report> {
    PENSTOCK_ASSIGN_IN(Report report, to.array().write(tile, made, inner), path);
    return report;
  };
  return walk(source, pass, write, device, options);
}

Result<Options> without_held(const Options& options, std::uint64_t held_bytes, std::string_view what) {
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  Options rest = options;
  if (held_bytes > allowed.budget_bytes / 2)
    return Error(ErrorCode::budget_too_small,
                 fmt::format("{}: a memory budget of {} is too small: {} are held all the time, and boxes need as much",
                             what, format_bytes(allowed.budget_bytes), format_bytes(held_bytes)))
        .set_hint(fmt::format("Allow at least {} bytes.", saturating_mul(held_bytes, 2)));
  rest.budget_bytes = allowed.budget_bytes - held_bytes;
  return rest;
}

Result<TensorView> packed_here(const TensorView& view, Tensor& held, const Workspace& work) {
  if (view.is_contiguous()) return view;
  PENSTOCK_ASSIGN(held, Tensor::empty(view.dtype, view.shape, work.stream, work.memory));
  PENSTOCK_TRY(copy_elements(view, held.view()));
  return held.view();
}

ConstBox const_box(const TensorView& view) {
  return {static_cast<const float*>(view.data),
          view.shape[0],
          view.shape[1],
          view.shape[2],
          view.strides_bytes[0] / 4,
          view.strides_bytes[1] / 4};
}
Box mutable_box(const TensorView& view) {
  return {static_cast<float*>(view.data), view.shape[0], view.shape[1], view.shape[2], view.strides_bytes[0] / 4,
          view.strides_bytes[1] / 4};
}

}  // namespace penstock::oct

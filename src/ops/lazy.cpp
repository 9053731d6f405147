#include "ops/lazy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "array/place_claim.hpp"
#include "array/places.hpp"
#include "array/raster/attributes.hpp"
#include "array/tiles/walk.hpp"
#include "core/guard.hpp"
#include "exec/budget.hpp"
#include "format/position.hpp"
#include "ops/chain.hpp"
#include "penstock/copy_changes.hpp"

namespace penstock {

struct LazyArray::State {
  Array from;
  Chain chain;
  std::vector<OpCall> calls;
};

namespace {

/// Those of some dimensions.
template <class List>
List picked(const List& all, const std::vector<std::size_t>& axes) {
  List some;
  for (const std::size_t d : axes) some.push_back(all[d]);
  return some;
}

std::string_view name_of(const std::vector<OpCall>& calls) {
  return calls.empty() ? std::string_view("copy") : std::string_view(calls.back().name);
}

/// The walk over `objects` of an output of this shape, which begins at `origin` of the whole.
TileWork work_for(const Array& from, const Chain& chain, std::string_view what, const Shape& shape,
                  const Shape& objects, const Region& region, const Shape& source_chunks) {
  TileWork work;
  work.what = what;
  work.in_dtype = chain.input().dtype;
  work.source_shape = from.dataset().shape;
  work.source_chunks = source_chunks;
  work.out_dtype = chain.output().dtype;
  work.out_shape = shape;
  work.out_objects = objects;
  const auto placed = [region](const Region& tile) {
    Region box = tile;
    for (std::size_t d = 0; d < box.size(); ++d) box[d].start += region[d].start;
    return box;
  };
  work.needs = [&chain, placed](const Region& tile) { return chain.needs(placed(tile)); };
  work.scratch_bytes = [&chain, placed](const Region& tile) { return chain.scratch_bytes(placed(tile)); };
  return work;
}

TileSteps steps_for(const Array& from, const Chain& chain, const Region& region, Job& job,
                    const std::shared_ptr<Memory>& memory) {
  TileSteps steps;
  steps.read = [&from](const Region& box, const TileMemory& into, const Options& inner) {
    return from.read(box, into.view, inner, into.arena);
  };
  steps.make = [&chain, &job, memory, region](std::uint64_t, const Region& in_box, const TensorView& in,
                                              const Region& tile, const TensorView& out) -> Status {
    Region box = tile;
    for (std::size_t d = 0; d < box.size(); ++d) box[d].start += region[d].start;
    const Workspace work{&job, in.stream, memory};
    return job.run([&] { return chain.run({in, in_box}, {out, box}, work); });
  };
  return steps;
}

}  // namespace

Result<LazyArray> LazyArray::make(const Array& from, std::span<const OpCall> calls) {
  return guarded([&]() -> Result<LazyArray> {
    const Dataset dataset = from.dataset();
    PENSTOCK_ASSIGN(Chain chain, Chain::make({dataset.dtype, dataset.shape}, calls));
    LazyArray lazy;
    lazy.state_ = std::make_shared<const State>(State{from, std::move(chain), {calls.begin(), calls.end()}});
    return lazy;
  });
}

const DType& LazyArray::dtype() const { return state_->chain.output().dtype; }
const Shape& LazyArray::shape() const { return state_->chain.output().shape; }

Result<Dataset> LazyArray::dataset(const CopyChanges& changes) const {
  Dataset to = state_->from.dataset();
  CopyChanges how = changes;
  const bool reshaped = to.shape != shape(), retyped = to.dtype != dtype();
  const bool reranked = to.shape.size() != shape().size();
  PENSTOCK_ASSIGN(Shape inner, to.inner_chunk_shape());
  if (reranked) {
    const std::vector<std::size_t> axes = state_->chain.axes();
    inner = picked(inner, axes);
    to.chunk_shape = picked(to.chunk_shape, axes);
    if (!to.dims.empty()) to.dims = picked(to.dims, axes);
  }
  to.shape = shape();
  to.dtype = dtype();
  PENSTOCK_TRY(forget_statistics(to));
  if (reshaped) PENSTOCK_TRY(forget_position(to));
  if (!retyped && !reranked) return copied_dataset(to, how);
  // Codecs and fill value of other elements, or shapes, say nothing of these.
  if (inner != to.chunk_shape && !how.shard_shape) how.shard_shape = to.chunk_shape;
  to.chunk_shape = inner;
  to.codecs = {{"bytes", R"({"endian":"little"})"}, {"zstd", R"({"level":3,"checksum":false})"}};
  to.fill.assign(to.dtype.size_bytes, std::byte{0});
  to.nodata.reset();
  return copied_dataset(to, how);
}

Result<Tensor> LazyArray::read(const Region& region, const Options& options, const Stream& stream,
                               Report* report) const {
  return guarded([&]() -> Result<Tensor> {
    const auto& [from, chain, calls] = *state_;
    PENSTOCK_TRY(check_region(region, shape()));
    for (const Range& r : region)
      if (r.step != 1) return Error(ErrorCode::invalid_argument, "a region of a lazy array has steps of 1");
    const Shape wanted = shape_of(region);
    PENSTOCK_ASSIGN(Tensor result, Tensor::empty(dtype(), wanted, stream, options.memory));
    PENSTOCK_ASSIGN(const std::uint64_t elements, result.view().elements());
    if (elements == 0) return result;
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
    PENSTOCK_ASSIGN(const Shape chunks, from.dataset().inner_chunk_shape());
    // No object is written: tiles may end anywhere, but few of them decode a chunk twice.
    Shape objects = picked(chunks, chain.axes());
    for (std::size_t d = 0; d < objects.size(); ++d)
      objects[d] = std::max<std::uint64_t>(std::min(objects[d], wanted[d]), 1);
    TileWork work = work_for(from, chain, name_of(calls), wanted, objects, region, chunks);
    work.writes = false;
    PENSTOCK_ASSIGN(work.min_read_bytes, min_read_bytes(from, stream.device(), options));
    PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(work, options));
    Job job(options, work.what, elements * dtype().size_bytes, allowed.threads);
    PENSTOCK_ASSIGN(const auto memory, working_memory(stream.device(), options));
    TileSteps steps = steps_for(from, chain, region, job, memory);
    steps.write = [&](const Region& tile, const TensorView& made, const Options&) -> Result<Report> {
      std::vector<Index> part;
      for (const Range& r : tile)
        part.push_back(Slice{static_cast<std::int64_t>(r.start), static_cast<std::int64_t>(r.start + r.count), 1});
      PENSTOCK_ASSIGN(TensorView to, result.view().slice(part));
      to.stream = made.stream;
      PENSTOCK_TRY(copy_elements(made, to));
      return Report();
    };
    PENSTOCK_ASSIGN(Report done, walk_tiles(work, plan, steps, stream.device(), options));
    done.written.reset();
    if (report != nullptr) *report = std::move(done);
    return result;
  });
}

Result<Report> write_chain(const Array& from, const Chain& chain, std::string_view what, Array& to, Device device,
                           const Options& options) {
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  PENSTOCK_ASSIGN(const Shape chunks, from.dataset().inner_chunk_shape());
  const Shape& shape = chain.output().shape;
  const Region all = whole(shape);
  TileWork work = work_for(from, chain, what, shape, to.dataset().chunk_shape, all, chunks);
  PENSTOCK_ASSIGN(work.min_read_bytes, min_read_bytes(from, device, options));
  PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(work, options));
  Job job(options, work.what, 0, allowed.threads);
  PENSTOCK_ASSIGN(const auto memory, working_memory(device, options));
  TileSteps steps = steps_for(from, chain, all, job, memory);
  steps.write = [&](const Region& tile, const TensorView& made, const Options& inner) {
    return to.write(tile, made, inner);
  };
  return walk_tiles(work, plan, steps, device, options);
}

namespace {

/// Errors: invalid_argument where what is written would take away what it is made of.
Status check_apart(const Array& from, const Store& store, std::string_view path) {
  if (compare_places(*from.store_ptr(), from.path(), store, path) == Places::apart) return {};
  return Error(ErrorCode::invalid_argument, "the result would replace the array that it is made of");
}

}  // namespace

Result<Report> LazyArray::write(Array& to, Device device, const Options& options) const {
  return guarded([&]() -> Result<Report> {
    const auto& [from, chain, calls] = *state_;
    const Dataset target = to.dataset();
    if (target.shape != shape() || target.dtype != dtype())
      return Error(ErrorCode::invalid_argument,
                   fmt::format("the array to write has shape {} of {}, the result {} of {}", to_string(target.shape),
                               target.dtype.name(), to_string(shape()), dtype().name()));
    PENSTOCK_TRY(check_apart(from, *to.store_ptr(), to.path()));
    PENSTOCK_ASSIGN(Report report, write_chain(from, chain, name_of(calls), to, device, options));
    report.stages.push_back({"work", device.name(), "operators where the boxes were read to", report.decoded_bytes, 0});
    return report;
  });
}

Result<Report> LazyArray::write(const std::shared_ptr<Store>& to_store, std::string_view path,
                                const CopyChanges& changes, Array::IfExists if_exists, Device device,
                                const Options& options) const {
  return guarded([&]() -> Result<Report> {
    PENSTOCK_TRY(check_apart(state_->from, *to_store, path));
    PENSTOCK_ASSIGN(const Dataset target, dataset(changes));
    std::optional<Array> to;
    if (if_exists == Array::IfExists::overwrite) {  // what stands goes first, and with it anybody's claim
      PENSTOCK_ASSIGN(to, Array::prepare(to_store, path, target, if_exists));
    }
    PENSTOCK_ASSIGN(const PlaceClaim claim, PlaceClaim::take(to_store, path, if_exists, options.stop()));
    if (!to) {
      PENSTOCK_ASSIGN(to, Array::prepare(to_store, path, target, if_exists));
    }
    PENSTOCK_ASSIGN(Report report, write(*to, device, options));
    PENSTOCK_TRY(claim.check());
    PENSTOCK_TRY(to->commit());
    PENSTOCK_TRY(to_store->flush());
    return report;
  });
}

Result<std::string> LazyArray::explain(const Dataset& to, Device device, const Options& options) const {
  return guarded([&]() -> Result<std::string> {
    const auto& [from, chain, calls] = *state_;
    PENSTOCK_ASSIGN(const Shape chunks, from.dataset().inner_chunk_shape());
    TileWork work = work_for(from, chain, name_of(calls), shape(), to.chunk_shape, whole(shape()), chunks);
    PENSTOCK_ASSIGN(work.min_read_bytes, min_read_bytes(from, device, options));
    PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(work, options));
    return fmt::format("{}device    {}\n{}", chain.text(), device.name(), plan.text(work));
  });
}

}  // namespace penstock

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "array/blocks.hpp"
#include "core/guard.hpp"
#include "device/launch.hpp"
#include "exec/budget.hpp"
#include "ops/project/project.hpp"
#include "penstock/ops.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kBlockBytes = std::uint64_t{256} << 20;

ProjectShape shape_of_block(const Region& block, const Shape& array, std::size_t axis) {
  ProjectShape shape;
  std::uint64_t source = 1, target = 1;
  for (std::size_t d = block.size(); d-- > 0;) {
    if (d == axis) {
      shape.axis_extent = block[d].count;
      shape.axis_stride = source;
    } else {
      const std::uint32_t r = shape.rank++;  // innermost first; turned around below
      shape.extent[r] = block[d].count;
      shape.source_stride[r] = source;
      shape.target_stride[r] = target;
      target *= array[d];
    }
    source *= block[d].count;
  }
  std::reverse(shape.extent, shape.extent + shape.rank);
  std::reverse(shape.source_stride, shape.source_stride + shape.rank);
  std::reverse(shape.target_stride, shape.target_stride + shape.rank);
  return shape;
}

/// Where a block's projection begins in the whole one, in elements.
std::uint64_t target_offset(const Region& block, const Shape& array, std::size_t axis) {
  std::uint64_t offset = 0, stride = 1;
  for (std::size_t d = block.size(); d-- > 0;) {
    if (d == axis) continue;
    offset += block[d].start * stride;
    stride *= array[d];
  }
  return offset;
}

/// Memory for one block and the projection on the processor that works.
struct Workplace {
  Device device;
  Stream stream;
  std::shared_ptr<Memory> memory;
  Buffer block, projection;

  static Result<Workplace> make(Device device, std::uint64_t block_bytes, std::uint64_t projection_bytes) {
    Workplace w;
    w.device = device;
    if (device.type != Device::Type::cpu) {
      PENSTOCK_ASSIGN(w.stream, Stream::create(device));
    }
    PENSTOCK_ASSIGN(w.memory, Memory::create(device, 0));
    PENSTOCK_ASSIGN(w.block, w.memory->allocate(block_bytes, 256, w.stream));
    PENSTOCK_ASSIGN(w.projection, w.memory->allocate(projection_bytes, 256, w.stream));
    return w;
  }
  Status project(const DType& dtype, const ProjectShape& shape, std::uint64_t offset_bytes, bool first) const {
    std::byte* target = projection.data() + offset_bytes;
    if (device.type == Device::Type::cuda) return project_max_cuda(dtype, shape, block.data(), target, first, stream);
    with_project_max(dtype, shape, block.data(), target, first,
                     [&](const auto& f) { launch_cpu(shape.elements(), f); });
    return {};
  }
};

Status check(const Dataset& dataset, std::size_t axis) {
  if (axis >= dataset.rank())
    return Error(ErrorCode::invalid_argument,
                 fmt::format("axis {} of an array of {} dimensions", axis, dataset.rank()));
  if (dataset.shape[axis] == 0) return Error(ErrorCode::invalid_argument, "no maximum along an axis of extent 0");
  if (!with_project_max(dataset.dtype, {}, nullptr, nullptr, true, [](const auto&) {}))
    return Error(ErrorCode::unsupported, "no maximum of elements of type " + dataset.dtype.name());
  return {};
}

Result<Report> project(const Array& from, std::size_t axis, Device device, const Options& options, Bytes& out) {
  const auto start = std::chrono::steady_clock::now();
  const Dataset dataset = from.dataset();
  PENSTOCK_TRY(check(dataset, axis));
  const std::uint64_t item = dataset.dtype.size_bytes;
  Shape projected = dataset.shape;
  projected.erase(projected.begin() + static_cast<std::ptrdiff_t>(axis));
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(projected));
  PENSTOCK_TRY(out.resize_discard(elements * item));
  Report report;
  report.operation = "project";
  if (elements == 0) return report;

  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  PENSTOCK_ASSIGN(const Shape inner, dataset.inner_chunk_shape());
  const std::uint64_t most = std::min(allowed.budget_bytes / 2, kBlockBytes) / item;
  const BlockWalk blocks(dataset.shape, inner, inner, std::max<std::uint64_t>(most, 1));
  std::uint64_t block_elements = 1;
  for (std::size_t d = 0; d < dataset.rank(); ++d)
    block_elements *= std::min(blocks.block_shape()[d], dataset.shape[d]);
  PENSTOCK_ASSIGN(Workplace work, Workplace::make(device, block_elements * item, elements * item));
  Options reading = options;
  reading.budget_bytes = allowed.budget_bytes - std::min(allowed.budget_bytes / 2, block_elements * item);
  PENSTOCK_ASSIGN(const std::uint64_t total, element_count(dataset.shape));
  std::uint64_t done = 0;
  for (std::uint64_t i = 0; i < blocks.size(); ++i) {
    const Region block = blocks[i];
    if (options.progress)
      reading.progress = [&](const Progress& p) { options.progress({"project", done + p.done_bytes, total * item}); };
    PENSTOCK_ASSIGN(const Report read, from.read(block, Target{work.block.data(), {}, device, work.stream}, reading));
    done += read.decoded_bytes;
    PENSTOCK_TRY(work.project(dataset.dtype, shape_of_block(block, dataset.shape, axis),
                              target_offset(block, dataset.shape, axis) * item, block[axis].start == 0));
    report.merge(read);
  }
  PENSTOCK_TRY(copy_async(out.data(), {}, work.projection.data(), device, elements * item, work.stream));
  PENSTOCK_TRY(work.stream.synchronize());
  report.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.stages.push_back({"project", device.name(), "maximum where the blocks were read to", elements * item, 0});
  if (device.type == Device::Type::cpu)
    report.peak_host_bytes += work.memory->peak_bytes();
  else
    report.peak_device_bytes += work.memory->peak_bytes();
  return report;
}

}  // namespace

Result<Report> project_max(const Array& from, std::size_t axis, Device device, const Options& options, Bytes& out) {
  return guarded([&] { return project(from, axis, device, options, out); });
}

}  // namespace penstock

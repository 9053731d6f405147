// Multiscale pyramids: each level from the one before it, block by block.
#include <fmt/format.h>

#include <algorithm>

#include "array/blocks.hpp"
#include "array/copy/tree.hpp"
#include "array/downsample.hpp"
#include "array/parents.hpp"
#include "array/pyramid_plan.hpp"
#include "core/guard.hpp"
#include "device/launch.hpp"
#include "exec/budget.hpp"
#include "format/format.hpp"
#include "format/zarr/consolidated.hpp"
#include "format/zarr/node.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kCoarsest = 256;  // levels are added until no spatial extent is larger
constexpr std::uint64_t kBlockBytes = std::uint64_t{64} << 20;

/// Axes from the array's dimension names, else the last of t, c, z, y, x.
Result<std::vector<ImageAxis>> default_axes(const Dataset& dataset) {
  constexpr std::string_view names[] = {"t", "c", "z", "y", "x"};
  if (dataset.rank() < 2 || dataset.rank() > 5)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("an OME-NGFF image has 2 to 5 dimensions, this array {}", dataset.rank()));
  std::vector<ImageAxis> axes;
  for (std::size_t d = 0; d < dataset.rank(); ++d) {
    const std::string_view usual = names[5 - dataset.rank() + d];
    const bool named = dataset.dims.size() == dataset.rank() && dataset.dims[d].name.has_value();
    const std::string name = named ? *dataset.dims[d].name : std::string(usual);
    const bool time = name == "t", channel = name == "c";
    axes.push_back({name,
                    time      ? "time"
                    : channel ? "channel"
                              : "space",
                    d < dataset.dims.size() ? dataset.dims[d].unit : ""});
  }
  return axes;
}

/// What the array says of its dimensions; 1 and 0 where it says nothing.
std::vector<double> scale_of(const Dataset& dataset) {
  std::vector<double> scale(dataset.rank(), 1.0);
  for (std::size_t d = 0; d < dataset.dims.size(); ++d) scale[d] = dataset.dims[d].scale.value_or(1.0);
  return scale;
}
std::vector<double> offset_of(const Dataset& dataset) {
  std::vector<double> offset(dataset.rank(), 0.0);
  for (std::size_t d = 0; d < dataset.dims.size(); ++d) offset[d] = dataset.dims[d].offset.value_or(0.0);
  return offset;
}

/// The dataset one step coarser than `fine`.
Dataset coarser(const Dataset& fine, const std::vector<ImageAxis>& axes) {
  Dataset coarse = fine;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (axes[d].type == "space") coarse.shape[d] = (fine.shape[d] + 1) / 2;
  return coarse;
}

int level_count(const Dataset& dataset, const std::vector<ImageAxis>& axes) {
  std::uint64_t largest = 0;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (axes[d].type == "space") largest = std::max(largest, dataset.shape[d]);
  int levels = 1;
  for (; largest > kCoarsest; largest = (largest + 1) / 2) ++levels;
  return levels;
}

template <class T, class Sum>
void mean_block(const DownsampleShape& shape, const std::byte* fine, std::byte* coarse, std::uint64_t elements) {
  launch_cpu(elements, DownsampleMean<T, Sum>{shape, reinterpret_cast<const T*>(fine), reinterpret_cast<T*>(coarse)});
}

using MeanBlock = void (*)(const DownsampleShape&, const std::byte*, std::byte*, std::uint64_t);

/// nullptr: there is no mean of such elements.
MeanBlock mean_for(const DType& dtype) {
  const auto by_size = [&](MeanBlock b1, MeanBlock b2, MeanBlock b4, MeanBlock b8) -> MeanBlock {
    switch (dtype.size_bytes) {
      case 1: return b1;
      case 2: return b2;
      case 4: return b4;
      case 8: return b8;
      default: return nullptr;
    }
  };
  switch (dtype.kind) {
    case Kind::unsigned_int:
      return by_size(mean_block<std::uint8_t, std::uint32_t>, mean_block<std::uint16_t, std::uint32_t>,
                     mean_block<std::uint32_t, std::uint64_t>, nullptr);
    case Kind::signed_int:
      return by_size(mean_block<std::int8_t, std::int32_t>, mean_block<std::int16_t, std::int32_t>,
                     mean_block<std::int32_t, std::int64_t>, nullptr);
    case Kind::floating: return by_size(nullptr, nullptr, mean_block<float, float>, mean_block<double, double>);
    default: return nullptr;
  }
}

/// One voxel of each block: the first.
void nearest_block(const DownsampleShape& shape, std::uint32_t item, const std::byte* fine, std::byte* coarse,
                   std::uint64_t elements) {
  launch_cpu(elements, [&](std::uint64_t i) {
    std::uint64_t rest = i, at = 0, stride = 1;
    for (std::uint32_t d = shape.rank; d-- > 0;) {
      at += rest % shape.coarse[d] * shape.factor[d] * stride;
      rest /= shape.coarse[d];
      stride *= shape.fine[d];
    }
    std::copy_n(fine + at * item, item, coarse + i * item);
  });
}

/// Fine elements that a block of the coarse level is made of.
Region fine_region(const Region& block, const Dataset& fine, const std::vector<ImageAxis>& axes) {
  Region region;
  for (std::size_t d = 0; d < block.size(); ++d) {
    const std::uint64_t factor = axes[d].type == "space" ? 2 : 1;
    const std::uint64_t start = block[d].start * factor;
    region.push_back({start, std::min(block[d].count * factor, fine.shape[d] - start), 1});
  }
  return region;
}

std::string below(std::string_view group, const std::string& name) {
  return group.empty() ? name : std::string(group) + "/" + name;
}

}  // namespace

Result<PyramidPlan> plan_pyramid(const Dataset& level0, const PyramidOptions& options) {
  PyramidPlan plan{
      {level0.format.version == 2 ? "0.4" : "0.5", options.name, options.axes, {}}, {level0}, options.method};
  std::vector<ImageAxis>& axes = plan.image.axes;
  if (axes.empty()) {
    PENSTOCK_ASSIGN(axes, default_axes(level0));
  }
  if (axes.size() != level0.rank())
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} axes for an array of {} dimensions", axes.size(), level0.rank()));
  if (options.method == Downsample::mean && mean_for(level0.dtype) == nullptr)
    return Error(ErrorCode::unsupported, fmt::format("no mean of elements of type {}", level0.dtype.name()))
        .set_hint("Use nearest.");
  const std::vector<double> scale = options.scale.empty() ? scale_of(level0) : options.scale;
  if (scale.size() != axes.size()) return Error(ErrorCode::invalid_argument, "one scale for each axis is needed");
  // OME-NGFF 0.5 wants the axes' names in the arrays too.
  if (level0.format.version == 3 && level0.dims.empty())
    for (const ImageAxis& axis : axes) plan.levels[0].dims.push_back({.name = axis.name});

  const int levels = options.levels > 0 ? options.levels : level_count(level0, axes);
  std::vector<double> level_scale = scale;
  for (int k = 0; k < levels; ++k) {
    if (k > 0) plan.levels.push_back(coarser(plan.levels.back(), axes));
    std::vector<double> translation = offset_of(level0);
    for (std::size_t d = 0; d < axes.size(); ++d) {
      if (axes[d].type != "space") continue;
      if (k > 0) level_scale[d] *= 2;
      // A mean stands at the middle of its block; a voxel that was picked stays where it was.
      if (options.method == Downsample::mean) translation[d] += (level_scale[d] - scale[d]) / 2;
    }
    plan.image.levels.push_back({std::to_string(k), level_scale, translation});
  }
  return plan;
}

Status make_level(const Array& fine, Array& coarse, const std::vector<ImageAxis>& axes, Downsample method,
                  const Options& options, Report& report) {
  const Dataset from = fine.dataset(), to = coarse.dataset();
  const std::uint32_t item = to.dtype.size_bytes;
  const MeanBlock mean = method == Downsample::mean ? mean_for(to.dtype) : nullptr;
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  const std::uint64_t times = std::uint64_t{1} << std::min<std::size_t>(axes.size(), 5);  // fine block / coarse block
  const std::uint64_t most = std::min(allowed.budget_bytes / 2, kBlockBytes) / item / (times + 1);
  const BlockWalk blocks(to.shape, to.chunk_shape, to.chunk_shape, std::max<std::uint64_t>(most, 1));
  Bytes fine_block, coarse_block;
  for (std::uint64_t i = 0; i < blocks.size(); ++i) {
    const Region block = blocks[i], below = fine_region(block, from, axes);
    DownsampleShape shape;
    shape.rank = static_cast<std::uint32_t>(block.size());
    for (std::size_t d = 0; d < block.size(); ++d) {
      shape.fine[d] = below[d].count;
      shape.coarse[d] = block[d].count;
      shape.factor[d] = axes[d].type == "space" ? 2 : 1;
    }
    PENSTOCK_ASSIGN(const std::uint64_t fine_count, element_count(shape_of(below)));
    PENSTOCK_ASSIGN(const std::uint64_t coarse_count, element_count(shape_of(block)));
    PENSTOCK_TRY(fine_block.resize_discard(fine_count * item));
    PENSTOCK_TRY(coarse_block.resize_discard(coarse_count * item));
    PENSTOCK_ASSIGN(const Report read, fine.read(below, Target{fine_block.data(), {}, {}, {}}, options));
    if (mean != nullptr)
      mean(shape, fine_block.data(), coarse_block.data(), coarse_count);
    else
      nearest_block(shape, item, fine_block.data(), coarse_block.data(), coarse_count);
    PENSTOCK_ASSIGN(const Report written, coarse.write(block, Target{coarse_block.data(), {}, {}, {}}, options));
    Report part = written;
    part.written = {written.chunks, written.absent_chunks, written.requests, written.stored_bytes};
    const std::uint64_t decoded = report.decoded_bytes + written.decoded_bytes, peak = report.peak_host_bytes;
    report.merge(read);
    report.merge(part);
    report.decoded_bytes = decoded;
    report.peak_host_bytes = std::max(peak, fine_block.capacity() + coarse_block.capacity() +
                                                std::max(read.peak_host_bytes, written.peak_host_bytes));
  }
  return {};
}

namespace {

Result<Report> write_levels(const Array& from, const std::shared_ptr<Store>& to_store, std::string_view group_path,
                            const PyramidOptions& pyramid, Array::IfExists if_exists, const Options& options) {
  PENSTOCK_ASSIGN(const PyramidPlan plan, plan_pyramid(from.dataset(), pyramid));
  const auto start = std::chrono::steady_clock::now();
  const std::string group(group_path);
  PENSTOCK_ASSIGN(Consolidated consolidated, Consolidated::drop(*to_store, group, options.stop()));
  Report report;
  const bool in_place = from.store_ptr()->url() == to_store->url() && from.path() == below(group_path, "0");
  if (!in_place) {
    PENSTOCK_ASSIGN(report, copy_alone(from, to_store, below(group_path, "0"), if_exists, options));
  }
  const bool names_added = plan.levels[0].dimension_names() != from.dataset().dimension_names();
  if (!in_place || names_added)
    PENSTOCK_TRY(metadata::write_documents(*to_store, below(group_path, "0"), plan.levels[0]));
  PENSTOCK_ASSIGN(Array level, Array::open(to_store, below(group_path, "0")));
  for (std::size_t k = 1; k < plan.levels.size(); ++k) {
    const std::string path = below(group_path, std::to_string(k));
    PENSTOCK_ASSIGN(Array next, Array::prepare(to_store, path, plan.levels[k], if_exists));
    PENSTOCK_TRY(make_level(level, next, plan.image.axes, plan.method, options, report));
    PENSTOCK_TRY(metadata::write_documents(*to_store, path, plan.levels[k]));
    PENSTOCK_ASSIGN(level, Array::open(to_store, path));
  }
  // The image's description last: before, readers see plain arrays.
  GroupInfo info{{"zarr", plan.levels[0].format.version}, "{}"};
  if (const auto there = read_node(*to_store, group_path); there && std::holds_alternative<GroupInfo>(*there))
    info = std::get<GroupInfo>(*there);
  PENSTOCK_ASSIGN(info.attributes, write_ngff(info.attributes, {plan.image}));
  PENSTOCK_TRY(make_parents(*to_store, group, info.format.version, options.stop()));
  PENSTOCK_TRY(write_node(*to_store, group_path, info, options.stop()));
  PENSTOCK_TRY(consolidated.renew(options.stop()));
  PENSTOCK_TRY(to_store->flush());
  report.operation = "pyramid";
  report.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace

Result<Report> write_pyramid(const Array& from, std::shared_ptr<Store> to_store, std::string_view group_path,
                             const PyramidOptions& pyramid, Array::IfExists if_exists, const Options& options) {
  return guarded([&] { return write_levels(from, to_store, group_path, pyramid, if_exists, options); });
}

}  // namespace penstock

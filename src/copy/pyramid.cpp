// Multiscale pyramids: each level from the one before it.
#include <fmt/format.h>

#include <algorithm>

#include "array/parents.hpp"
#include "copy/pyramid.hpp"
#include "copy/tree.hpp"
#include "core/checked.hpp"
#include "core/guard.hpp"
#include "format/format.hpp"
#include "format/zarr/consolidated.hpp"
#include "format/zarr/node.hpp"
#include "ops/downsample/downsample.hpp"
#include "ops/lazy.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kCoarsest = 256;  // levels are added until no spatial extent is larger

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
Dataset coarser(const Dataset& fine, const std::vector<std::uint32_t>& factors) {
  Dataset coarse = fine;
  for (std::size_t d = 0; d < factors.size(); ++d) coarse.shape[d] = div_up(fine.shape[d], factors[d]);
  return coarse;
}

int level_count(const Dataset& dataset, const std::vector<std::uint32_t>& factors) {
  int levels = 1;
  Shape shape = dataset.shape;
  const auto too_large = [&] {
    for (std::size_t d = 0; d < factors.size(); ++d)
      if (factors[d] > 1 && shape[d] > kCoarsest) return true;
    return false;
  };
  for (; too_large(); ++levels)
    for (std::size_t d = 0; d < factors.size(); ++d) shape[d] = div_up(shape[d], factors[d]);
  return levels;
}

/// The factor of each dimension, from level to level.
Result<std::vector<std::uint32_t>> factors_of(const std::vector<ImageAxis>& axes,
                                              const std::vector<std::uint32_t>& given) {
  const auto space = static_cast<std::size_t>(std::ranges::count(axes, "space", &ImageAxis::type));
  if (given.size() != 1 && given.size() != space)
    return Error(ErrorCode::invalid_argument, fmt::format("{} factors for {} axes of space", given.size(), space));
  if (std::ranges::all_of(given, [](std::uint32_t factor) { return factor < 2; }))
    return Error(ErrorCode::invalid_argument, "factor: must be 2 or more, at least along one axis of space");
  std::vector<std::uint32_t> factors;
  std::size_t k = 0;
  for (const ImageAxis& axis : axes)
    factors.push_back(axis.type != "space" ? 1 : given.size() == 1 ? given[0] : given[k++]);
  return factors;
}

std::string below(std::string_view group, const std::string& name) {
  return group.empty() ? name : std::string(group) + "/" + name;
}

}  // namespace

Result<PyramidPlan> plan_pyramid(const Dataset& level0, const PyramidOptions& options) {
  // Member by member: GCC 12 destroys what was not made where memory runs out within braces.
  PyramidPlan plan;
  plan.image.version = level0.format.version == 2 ? "0.4" : "0.5";
  plan.image.name = options.name;
  plan.image.axes = options.axes;
  plan.levels.push_back(level0);
  plan.how = {options.method, options.device};
  std::vector<ImageAxis>& axes = plan.image.axes;
  if (axes.empty()) {
    PENSTOCK_ASSIGN(axes, default_axes(level0));
  }
  if (axes.size() != level0.rank())
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} axes for an array of {} dimensions", axes.size(), level0.rank()));
  PENSTOCK_ASSIGN(plan.factors, factors_of(axes, options.factor));
  PENSTOCK_TRY(downsample::make_downsample({level0.dtype, level0.shape}, plan.factors, options.method));
  const std::vector<double> scale = options.scale.empty() ? scale_of(level0) : options.scale;
  if (scale.size() != axes.size()) return Error(ErrorCode::invalid_argument, "one scale for each axis is needed");
  // OME-NGFF 0.5 wants the axes' names in the arrays too.
  if (level0.format.version == 3 && level0.dims.empty())
    for (const ImageAxis& axis : axes) plan.levels[0].dims.push_back({.name = axis.name});

  const int levels = options.levels > 0 ? options.levels : level_count(level0, plan.factors);
  std::vector<double> level_scale = scale;
  for (int k = 0; k < levels; ++k) {
    if (k > 0) plan.levels.push_back(coarser(plan.levels.back(), plan.factors));
    std::vector<double> translation = offset_of(level0);
    for (std::size_t d = 0; d < axes.size(); ++d) {
      if (axes[d].type != "space") continue;
      if (k > 0) level_scale[d] *= plan.factors[d];
      // What is made of a block stands at its middle; a voxel that was picked stays where it was.
      if (options.method != Downsample::nearest) translation[d] += (level_scale[d] - scale[d]) / 2;
    }
    plan.image.levels.push_back({std::to_string(k), level_scale, translation});
  }
  return plan;
}

Status make_level(const Array& fine, Array& coarse, const std::vector<std::uint32_t>& factors, const LevelMethod& how,
                  const Options& options, Report& report) {
  const Dataset from = fine.dataset(), to = coarse.dataset();
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(to.shape));
  if (elements == 0) return {};
  Chain chain({from.dtype, from.shape});
  PENSTOCK_ASSIGN(auto blocks, downsample::make_downsample(chain.input(), factors, how.method));
  chain.add(std::move(blocks));
  PENSTOCK_ASSIGN(const Report part, write_chain(fine, chain, "pyramid", coarse, how.device, options));
  const std::uint64_t decoded = report.decoded_bytes + elements * to.dtype.size_bytes;
  const std::uint64_t peak = std::max(report.peak_host_bytes, part.peak_host_bytes);
  report.merge(part);
  report.decoded_bytes = decoded;
  report.peak_host_bytes = peak;
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
    PENSTOCK_TRY(make_level(level, next, plan.factors, plan.how, options, report));
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

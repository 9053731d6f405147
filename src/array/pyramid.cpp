// Multiscale pyramids: each level from the one before it.
#include <fmt/format.h>

#include <algorithm>

#include "array/copy/tree.hpp"
#include "array/parents.hpp"
#include "array/pyramid/level.hpp"
#include "array/pyramid_plan.hpp"
#include "core/checked.hpp"
#include "core/guard.hpp"
#include "format/format.hpp"
#include "format/zarr/consolidated.hpp"
#include "format/zarr/node.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t kMaxFactor = 16;
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

int level_count(const Dataset& dataset, const std::vector<ImageAxis>& axes, std::uint32_t factor) {
  std::uint64_t largest = 0;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (axes[d].type == "space") largest = std::max(largest, dataset.shape[d]);
  int levels = 1;
  for (; largest > kCoarsest; largest = div_up(largest, factor)) ++levels;
  return levels;
}

Status check_method(const DType& dtype, const PyramidOptions& options) {
  if (options.factor < 2 || options.factor > kMaxFactor)
    return Error(ErrorCode::invalid_argument, fmt::format("factor {}: must be 2 to {}", options.factor, kMaxFactor));
  if (options.method == Downsample::gaussian && options.factor > pyramid::kMaxGaussianFactor)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("factor {}: a Gaussian has at most {}", options.factor, pyramid::kMaxGaussianFactor));
  if (pyramid::with_level(options.method, dtype, {}, nullptr, nullptr, [](const auto&) {})) return {};
  static constexpr const char* names[] = {"mean", "nearest", "gaussian", "mode"};
  return Error(ErrorCode::unsupported, fmt::format("no {} of elements of type {}",
                                                   names[static_cast<std::size_t>(options.method)], dtype.name()))
      .set_hint("Use nearest.");
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
  PENSTOCK_TRY(check_method(level0.dtype, options));
  for (const ImageAxis& axis : axes) plan.factors.push_back(axis.type == "space" ? options.factor : 1);
  const std::vector<double> scale = options.scale.empty() ? scale_of(level0) : options.scale;
  if (scale.size() != axes.size()) return Error(ErrorCode::invalid_argument, "one scale for each axis is needed");
  // OME-NGFF 0.5 wants the axes' names in the arrays too.
  if (level0.format.version == 3 && level0.dims.empty())
    for (const ImageAxis& axis : axes) plan.levels[0].dims.push_back({.name = axis.name});

  const int levels = options.levels > 0 ? options.levels : level_count(level0, axes, options.factor);
  std::vector<double> level_scale = scale;
  for (int k = 0; k < levels; ++k) {
    if (k > 0) plan.levels.push_back(coarser(plan.levels.back(), plan.factors));
    std::vector<double> translation = offset_of(level0);
    for (std::size_t d = 0; d < axes.size(); ++d) {
      if (axes[d].type != "space") continue;
      if (k > 0) level_scale[d] *= options.factor;
      // What is made of a block stands at its middle; a voxel that was picked stays where it was.
      if (options.method != Downsample::nearest) translation[d] += (level_scale[d] - scale[d]) / 2;
    }
    plan.image.levels.push_back({std::to_string(k), level_scale, translation});
  }
  return plan;
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

// The rules of OME-NGFF that concern an image and its arrays together.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "format/format.hpp"

namespace penstock {
namespace {

using Problems = std::vector<std::string>;

/// 0: time, 1: channel or another type, 2: space: the order in which the axes must stand.
int stage(const ImageAxis& axis) { return axis.type == "time" ? 0 : axis.type == "space" ? 2 : 1; }

void check_axes(const std::vector<ImageAxis>& axes, Problems& problems) {
  std::size_t count[3] = {};
  std::set<std::string> names;
  for (const ImageAxis& axis : axes) {
    ++count[stage(axis)];
    if (axis.name.empty()) problems.push_back("axes: an axis without a name");
    if (!names.insert(axis.name).second) problems.push_back(fmt::format("axes: two axes \"{}\"", axis.name));
  }
  if (axes.size() < 2 || axes.size() > 5)
    problems.push_back(fmt::format("axes: {} axes, 2 to 5 are allowed", axes.size()));
  if (count[2] < 2 || count[2] > 3)
    problems.push_back(fmt::format("axes: {} axes of type \"space\", 2 or 3 are needed", count[2]));
  if (count[0] > 1) problems.push_back("axes: more than one axis of type \"time\"");
  if (count[1] > 1) problems.push_back("axes: more than one axis of type \"channel\" or of another type");
  if (!std::ranges::is_sorted(axes, {}, stage)) problems.push_back("axes: must be in the order time, channel, space");
}

void check_transforms(const Multiscale& image, Problems& problems) {
  for (std::size_t i = 0; i < image.levels.size(); ++i) {
    const ImageLevel& level = image.levels[i];
    const auto rank = image.axes.size();
    if (level.scale.size() != rank || level.translation.size() != rank) {
      problems.push_back(fmt::format("level {} ({}): scale and translation need {} numbers", i, level.path, rank));
      continue;
    }
    if (std::ranges::any_of(level.scale, [](double s) { return !(s > 0); }))
      problems.push_back(fmt::format("level {} ({}): scales must be greater than 0", i, level.path));
    if (i == 0 || image.levels[i - 1].scale.size() != rank) continue;
    for (std::size_t k = 0; k < rank; ++k)
      if (level.scale[k] < image.levels[i - 1].scale[k])
        problems.push_back(
            fmt::format("level {} ({}): finer than the level before along {}", i, level.path, image.axes[k].name));
  }
}

void check_names(const Multiscale& image, const Dataset& array, const std::string& where, Problems& problems) {
  if (array.dims.empty()) {
    if (image.version == "0.5") problems.push_back(where + "the array has no dimension_names");
    return;
  }
  for (std::size_t k = 0; k < std::min(image.axes.size(), array.dims.size()); ++k)
    if (array.dims[k].name != image.axes[k].name)
      problems.push_back(fmt::format("{}dimension {} is named \"{}\", the axis \"{}\"", where, k,
                                     array.dims[k].name.value_or("null"), image.axes[k].name));
}

void check_array(const Multiscale& image, const Dataset& array, const std::string& where, Problems& problems) {
  const int format = image.version == "0.5" ? 3 : 2;
  if (array.format.version != format)
    problems.push_back(
        fmt::format("{}zarr v{}, OME-NGFF {} needs v{}", where, array.format.version, image.version, format));
  if (array.rank() != image.axes.size())
    problems.push_back(fmt::format("{}{} dimensions, {} axes", where, array.rank(), image.axes.size()));
  if (format == 2 && array.format.version == 2 && (array.keys() == nullptr || array.keys()->separator != '/'))
    problems.push_back(where + "the dimension separator must be \"/\"");
  check_names(image, array, where, problems);
}

}  // namespace

std::vector<std::string> validate_ngff(const Multiscale& image, const std::vector<Dataset>& levels) {
  Problems problems;
  check_axes(image.axes, problems);
  check_transforms(image, problems);
  if (levels.size() != image.levels.size())
    problems.push_back(fmt::format("{} levels are listed, {} arrays were found", image.levels.size(), levels.size()));
  for (std::size_t i = 0; i < std::min(levels.size(), image.levels.size()); ++i) {
    const std::string where = fmt::format("level {} ({}): ", i, image.levels[i].path);
    check_array(image, levels[i], where, problems);
    if (levels[i].dtype != levels[0].dtype)
      problems.push_back(fmt::format("{}{}, level 0 is {}", where, levels[i].dtype.name(), levels[0].dtype.name()));
    if (i == 0 || levels[i].rank() != levels[i - 1].rank()) continue;
    for (std::size_t k = 0; k < levels[i].rank(); ++k)
      if (levels[i].shape[k] > levels[i - 1].shape[k])
        problems.push_back(fmt::format("{}larger than the level before along dimension {}", where, k));
  }
  return problems;
}

}  // namespace penstock

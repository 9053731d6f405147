// Groups that are OME-NGFF images.
#include <fmt/format.h>

#include "format/format.hpp"
#include "penstock/array.hpp"

namespace penstock {

Result<std::vector<Multiscale>> Group::multiscales() const {
  return parse_ngff(info().attributes, info().format.version);
}

Result<std::vector<std::string>> Group::image_problems() const {
  std::vector<std::string> problems;
  PENSTOCK_ASSIGN(const std::vector<Multiscale> images, multiscales());
  for (const Multiscale& image : images) {
    std::vector<Dataset> levels;
    for (const ImageLevel& level : image.levels) {
      const auto array = Array::open(store_ptr(), path().empty() ? level.path : path() + "/" + level.path);
      if (!array) {
        problems.push_back(fmt::format("level {} ({}): {}", levels.size(), level.path, array.error().message()));
        break;  // what is compared with it would only repeat this
      }
      levels.push_back(array->dataset());
    }
    const std::string prefix = images.size() > 1 ? fmt::format("image \"{}\": ", image.name) : "";
    for (std::string& problem : validate_ngff(image, levels)) problems.push_back(prefix + std::move(problem));
  }
  return problems;
}

}  // namespace penstock

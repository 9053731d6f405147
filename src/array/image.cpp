// Groups that are OME-NGFF images.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "format/format.hpp"
#include "penstock/array.hpp"

namespace penstock {

Result<std::vector<Multiscale>> Group::multiscales() const {
  return parse_ngff(info().attributes, info().format.version);
}

namespace {

/// Whether it is the metadata that cannot be used, and not memory, the disk or time that failed.
bool says_nothing(const Error& error) {
  switch (error.code()) {
    case ErrorCode::not_found:
    case ErrorCode::is_directory:
    case ErrorCode::permission_denied:
    case ErrorCode::invalid_metadata:
    case ErrorCode::corrupt_data:
    case ErrorCode::unsupported: return true;
    default: return false;
  }
}

/// What the image of this group whose level `path` is says of the level's dimensions; empty: there is none.  Errors:
/// those of reading.
Result<std::vector<Dimension>> dimensions_of_level(const Store& store, const std::string& group,
                                                   const std::string& path) {
  const std::vector<Dimension> none;
  const auto node = read_node(store, group);
  if (!node) return says_nothing(node.error()) ? Result(none) : node.error();
  const auto* const info = std::get_if<GroupInfo>(&*node);
  if (info == nullptr) return none;
  const auto images = parse_ngff(info->attributes, info->format.version);
  if (!images) return says_nothing(images.error()) ? Result(none) : images.error();
  for (const Multiscale& image : *images)
    for (const ImageLevel& level : image.levels) {
      if (level.path != path) continue;
      std::vector<Dimension> dims;
      for (std::size_t d = 0; d < image.axes.size(); ++d) {
        const auto at = [&](const std::vector<double>& all) {
          return d < all.size() ? std::optional(all[d]) : std::nullopt;
        };
        dims.push_back({image.axes[d].name, image.axes[d].unit, at(level.scale), at(level.translation)});
      }
      return dims;
    }
  return none;
}

}  // namespace

Result<std::vector<Dimension>> image_dimensions(const Array& array) {
  const Dataset dataset = array.dataset();
  const auto says = [](const Dimension& dim) { return dim.scale || dim.offset || !dim.unit.empty(); };
  if (!zarr_format(dataset.format) || std::ranges::any_of(dataset.dims, says)) return dataset.dims;
  const auto fits = [&](const std::vector<Dimension>& dims) { return dims.size() == dataset.rank(); };
  const std::string& path = array.path();
  for (std::size_t slash = path.rfind('/'); !path.empty();
       slash = slash == std::string::npos || slash == 0 ? std::string::npos : path.rfind('/', slash - 1)) {
    const bool in_root = slash == std::string::npos;
    PENSTOCK_ASSIGN(auto dims, dimensions_of_level(*array.store_ptr(), in_root ? "" : path.substr(0, slash),
                                                   in_root ? path : path.substr(slash + 1)));
    if (fits(dims)) return dims;
    if (in_root) break;
  }
  std::error_code error;
  const auto root = std::filesystem::canonical(array.store_ptr()->url(), error);
  if (!path.empty() || error || !std::filesystem::is_directory(root, error)) return dataset.dims;
  const auto above = open_store(root.parent_path().string(), StoreMode::read, array.store_ptr()->options());
  if (!above) return dataset.dims;
  PENSTOCK_ASSIGN(auto dims, dimensions_of_level(**above, "", root.filename().string()));
  return fits(dims) ? dims : dataset.dims;
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

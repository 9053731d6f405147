// Labels of an OME-NGFF image.
#include <fmt/format.h>

#include <algorithm>

#include "copy/tree.hpp"
#include "format/format.hpp"
#include "penstock/pyramid.hpp"

namespace penstock {
namespace {

/// Lists a label image in the group `labels` of an image, which is made where it is missing.
Status list_label(Store& store, const std::string& labels, const std::string& name, int zarr_format) {
  const auto there = read_node(store, labels);
  if (!there && there.error().code() != ErrorCode::not_found) return there.error();
  if (there && !std::holds_alternative<GroupInfo>(*there))
    return Error(ErrorCode::already_exists, fmt::format("{}/{}: an array, not a group", store.url(), labels));
  GroupInfo group = there ? std::get<GroupInfo>(*there) : GroupInfo{{"zarr", zarr_format}, "{}"};
  PENSTOCK_ASSIGN_IN(std::vector<std::string> names, parse_ngff_labels(group.attributes), labels);
  if (there && std::ranges::find(names, name) != names.end()) return {};
  names.push_back(name);
  PENSTOCK_ASSIGN_IN(group.attributes, write_ngff_labels(group.attributes, names, group.format.version), labels);
  return write_node(store, labels, group);
}

}  // namespace

Result<Report> write_label(const Group& image, std::string_view name, const Array& from, const PyramidOptions& pyramid,
                           Array::IfExists if_exists, const Options& options) {
  PENSTOCK_ASSIGN(const auto images, image.multiscales());
  if (images.empty() || images[0].levels.empty())
    return Error(ErrorCode::invalid_argument, "labels belong to an OME-NGFF image; this group is none");
  PENSTOCK_TRY_IN(check_key(name), "name of the label");
  if (from.dataset().format.version != image.info().format.version)
    return Error(ErrorCode::invalid_argument, fmt::format("a label of zarr v{} for an image of v{}",
                                                          from.dataset().format.version, image.info().format.version))
        .set_hint("Copy it to the image's zarr version first.");
  PyramidOptions label = pyramid;
  if (label.axes.empty() && from.dataset().rank() == images[0].axes.size()) {
    label.axes = images[0].axes;
    if (label.scale.empty()) label.scale = images[0].levels[0].scale;
  }
  const std::shared_ptr<Store> store = image.store_ptr();
  const std::string labels = joined(image.path(), "labels"), path = joined(labels, name);
  PENSTOCK_ASSIGN(Report report, write_pyramid(from, store, path, label, if_exists, options));
  PENSTOCK_ASSIGN(Group made, Group::open(store, path));
  std::string image_path = "../../";
  for (std::size_t deeper = static_cast<std::size_t>(std::ranges::count(name, '/')); deeper > 0; --deeper)
    image_path += "../";
  PENSTOCK_ASSIGN(const std::string attributes,
                  write_ngff_image_label(made.info().attributes, image_path, made.info().format.version));
  PENSTOCK_TRY(made.set_attributes(attributes));
  PENSTOCK_TRY(list_label(*store, labels, std::string(name), image.info().format.version));
  PENSTOCK_TRY(store->flush());
  return report;
}

}  // namespace penstock

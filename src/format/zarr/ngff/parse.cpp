// OME-NGFF attributes -> images, labels.  https://ngff.openmicroscopy.org/0.5/, /0.4/ and the versions before
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/json.hpp"
#include "format/format.hpp"
#include "format/members.hpp"
#include "format/zarr/ngff/ngff.hpp"

namespace penstock {
namespace ngff {
namespace {

using metadata::invalid;
using metadata::shown;
using metadata::unsupported;

/// A string member that may be absent or null.
Result<std::string> optional_string(const Json& object, const char* key, std::string_view where) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return std::string();
  if (!it->is_string())
    return invalid(fmt::format("{}.{}", where, key), fmt::format("must be a string, is {}", shown(*it)));
  return it->get<std::string>();
}

Result<const Json*> list_member(const Json& object, const char* key, std::string_view where) {
  PENSTOCK_ASSIGN_IN(const Json* list, member(object, key), where);
  if (!list->is_array() || list->empty())
    return invalid(fmt::format("{}.{}", where, key),
                   fmt::format("must be a list of one item or more, is {}", shown(*list)));
  return list;
}

Status check_version(std::string_view version, std::string_view where) {
  for (const char* known : {"0.1", "0.2", "0.3", "0.4", "0.5"})
    if (version == known) return {};
  return unsupported(where, fmt::format("OME-NGFF version \"{}\"; penstock reads 0.1 to 0.5", version));
}

/// Versions whose images have no transformations, and axes without type and unit.
bool is_early(std::string_view version) { return version == "0.1" || version == "0.2" || version == "0.3"; }

ImageAxis early_axis(const std::string& name) {
  return {name, name == "t" ? "time" : name == "c" ? "channel" : "space", ""};
}

/// 0.3 names the axes, 0.1 and 0.2 have these five.
Result<std::vector<ImageAxis>> parse_early_axes(const Json& image, std::string_view where) {
  std::vector<ImageAxis> axes;
  const auto list = image.find("axes");
  if (list == image.end() || list->is_null()) {
    for (const char* name : {"t", "c", "z", "y", "x"}) axes.push_back(early_axis(name));
    return axes;
  }
  if (!list->is_array() || list->empty() || list->size() > 5)
    return invalid(fmt::format("{}.axes", where), fmt::format("must be a list of 1 to 5 names, is {}", shown(*list)));
  for (const Json& item : *list) {
    const std::string name = item.is_string() ? item.get<std::string>() : "";
    if (name.size() != 1 || std::string_view("tczyx").find(name) == std::string_view::npos)
      return invalid(fmt::format("{}.axes[{}]", where, axes.size()),
                     fmt::format("must be one of t, c, z, y, x, is {}", shown(item)));
    axes.push_back(early_axis(name));
  }
  return axes;
}

Result<std::vector<ImageAxis>> parse_axes(const Json& image, std::string_view where) {
  PENSTOCK_ASSIGN(const Json* list, list_member(image, "axes", where));
  if (list->size() > kMaxRank) return unsupported(fmt::format("{}.axes", where), fmt::format("{} axes", list->size()));
  std::vector<ImageAxis> axes;
  for (const Json& item : *list) {
    const std::string name = fmt::format("{}.axes[{}]", where, axes.size());
    if (!item.is_object()) return invalid(name, fmt::format("must be an object with a name, is {}", shown(item)));
    ImageAxis axis;
    PENSTOCK_ASSIGN_IN(axis.name, string_member(item, "name"), name);
    PENSTOCK_ASSIGN(axis.type, optional_string(item, "type", name));
    PENSTOCK_ASSIGN(axis.unit, optional_string(item, "unit", name));
    axes.push_back(std::move(axis));
  }
  return axes;
}

Result<std::vector<double>> parse_vector(const Json& transform, const char* key, std::size_t rank,
                                         const std::string& where) {
  const std::string name = fmt::format("{}.{}", where, key);
  const auto it = transform.find(key);
  if (it == transform.end() && transform.contains("path"))
    return unsupported(where, "a transformation stored as an array (\"path\")");
  if (it == transform.end()) return invalid(where, fmt::format("the member \"{}\" is missing", key));
  if (!it->is_array() || it->size() != rank)
    return invalid(name, fmt::format("must be a list of {} numbers, one per axis, is {}", rank, shown(*it)));
  std::vector<double> values;
  for (const Json& item : *it) {
    if (!item.is_number() || !std::isfinite(item.get<double>()))
      return invalid(name, fmt::format("must be a list of numbers, is {}", shown(*it)));
    values.push_back(item.get<double>());
  }
  return values;
}

/// x -> scale * x + translation, per axis.
struct Transform {
  std::vector<double> scale, translation;
};

/// Exactly one scale, then at most one translation.
Result<Transform> parse_transforms(const Json& owner, std::size_t rank, std::string_view owner_where) {
  const std::string where = fmt::format("{}.coordinateTransformations", owner_where);
  PENSTOCK_ASSIGN(const Json* list, list_member(owner, "coordinateTransformations", owner_where));
  if (list->size() > 2)
    return invalid(where, fmt::format("one scale and at most one translation are allowed, there are {}", list->size()));
  Transform transform{{}, std::vector<double>(rank, 0)};
  constexpr std::array<const char*, 2> kTypes = {"scale", "translation"};
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", where, i);
    PENSTOCK_ASSIGN_IN(const std::string type, string_member((*list)[i], "type"), name);
    if (type != kTypes[i]) return invalid(name, fmt::format("must be of type \"{}\", is \"{}\"", kTypes[i], type));
    auto& values = i == 0 ? transform.scale : transform.translation;
    PENSTOCK_ASSIGN(values, parse_vector((*list)[i], kTypes[i], rank, name));
    for (const double value : values)
      if (i == 0 && value == 0) return invalid(name, "a scale of 0");
  }
  return transform;
}

/// `after` applied to the result of `before`.
Transform composed(const Transform& before, const Transform& after) {
  Transform out = before;
  for (std::size_t i = 0; i < out.scale.size(); ++i) {
    out.scale[i] *= after.scale[i];
    out.translation[i] = out.translation[i] * after.scale[i] + after.translation[i];
  }
  return out;
}

Result<std::string> parse_level_path(const Json& dataset, const std::string& where) {
  if (!dataset.is_object()) return invalid(where, fmt::format("must be an object with a path, is {}", shown(dataset)));
  PENSTOCK_ASSIGN_IN(std::string path, string_member(dataset, "path"), where);
  if (const Status valid = check_key(path); !valid)
    return invalid(where + ".path", fmt::format("must lead to an array below the group: {}", valid.error().message()));
  return path;
}

/// No size is stated before 0.4: 1.
Result<ImageLevel> parse_early_level(const Json& dataset, std::size_t rank, const std::string& where) {
  PENSTOCK_ASSIGN(std::string path, parse_level_path(dataset, where));
  return ImageLevel{std::move(path), std::vector<double>(rank, 1), std::vector<double>(rank, 0)};
}

Result<ImageLevel> parse_level(const Json& dataset, const std::optional<Transform>& whole, std::size_t rank,
                               const std::string& where) {
  PENSTOCK_ASSIGN(std::string path, parse_level_path(dataset, where));
  PENSTOCK_ASSIGN(Transform transform, parse_transforms(dataset, rank, where));
  if (whole) transform = composed(transform, *whole);
  for (const std::vector<double>* values : {&transform.scale, &transform.translation})
    for (const double value : *values)
      if (!std::isfinite(value)) return invalid(where, "the transformations together are out of range");
  return ImageLevel{std::move(path), std::move(transform.scale), std::move(transform.translation)};
}

Result<Multiscale> parse_image(const Json& image, const std::string& version, const std::string& where) {
  if (!image.is_object()) return invalid(where, fmt::format("must be an object, is {}", shown(image)));
  Multiscale out;
  PENSTOCK_ASSIGN(const std::string own_version, optional_string(image, "version", where));
  // Writers of 0.4 may leave the version out; 0.5 states it once for all images.
  out.version = !version.empty() ? version : own_version.empty() ? "0.4" : own_version;
  PENSTOCK_TRY(check_version(out.version, where + ".version"));
  const bool early = is_early(out.version);
  if (early && !version.empty())
    return invalid(where + ".version", fmt::format("{} has no member \"ome\"", out.version));
  if (version.empty() && !early && out.version != "0.4")
    return invalid(where + ".version", fmt::format("{} keeps its images below the member \"ome\"", out.version));
  PENSTOCK_ASSIGN(out.name, optional_string(image, "name", where));
  PENSTOCK_ASSIGN(out.axes, early ? parse_early_axes(image, where) : parse_axes(image, where));
  const std::size_t rank = out.axes.size();
  std::optional<Transform> whole;
  if (const auto it = image.find("coordinateTransformations");
      !early && it != image.end() && !it->is_null() && !it->empty()) {
    PENSTOCK_ASSIGN(whole, parse_transforms(image, rank, where));
  }
  PENSTOCK_ASSIGN(const Json* datasets, list_member(image, "datasets", where));
  for (const Json& dataset : *datasets) {
    const std::string name = fmt::format("{}.datasets[{}]", where, out.levels.size());
    PENSTOCK_ASSIGN(ImageLevel level,
                    early ? parse_early_level(dataset, rank, name) : parse_level(dataset, whole, rank, name));
    out.levels.push_back(std::move(level));
  }
  return out;
}

}  // namespace

Result<Json> parse_attributes(std::string_view attributes_json) {
  PENSTOCK_ASSIGN_IN(Json attributes, parse_json(attributes_json), "attributes");
  if (!attributes.is_object()) return invalid("attributes", "must be a JSON object");
  return attributes;
}

Result<Namespace> open_namespace(const Json& attributes) {
  const auto it = attributes.find("ome");
  if (it == attributes.end()) return Namespace{&attributes, "", ""};
  if (!it->is_object()) return invalid("ome", fmt::format("must be an object, is {}", shown(*it)));
  PENSTOCK_ASSIGN_IN(std::string version, string_member(*it, "version"), "ome");
  PENSTOCK_TRY(check_version(version, "ome.version"));
  return Namespace{&*it, "ome.", std::move(version)};
}

}  // namespace ngff

Result<std::vector<Multiscale>> parse_ngff(std::string_view attributes_json, int zarr_format) {
  PENSTOCK_ASSIGN(const Json attributes, ngff::parse_attributes(attributes_json));
  PENSTOCK_ASSIGN(const ngff::Namespace ome, ngff::open_namespace(attributes));
  const auto it = ome.object->find("multiscales");
  if (it == ome.object->end()) return std::vector<Multiscale>();
  if (!ome.version.empty() && zarr_format != 3)
    return metadata::invalid(
        "ome", fmt::format("OME-NGFF {} is for zarr v3, this is a zarr v{} group", ome.version, zarr_format));
  const std::string where = ome.where + "multiscales";
  if (!it->is_array() || it->empty())
    return metadata::invalid(where, fmt::format("must be a list of one image or more, is {}", metadata::shown(*it)));
  std::vector<Multiscale> images;
  for (const Json& item : *it) {
    PENSTOCK_ASSIGN(Multiscale image,
                    ngff::parse_image(item, ome.version, fmt::format("{}[{}]", where, images.size())));
    images.push_back(std::move(image));
  }
  return images;
}

Result<std::vector<std::string>> parse_ngff_labels(std::string_view attributes_json) {
  PENSTOCK_ASSIGN(const Json attributes, ngff::parse_attributes(attributes_json));
  PENSTOCK_ASSIGN(const ngff::Namespace ome, ngff::open_namespace(attributes));
  std::vector<std::string> labels;
  const auto it = ome.object->find("labels");
  if (it == ome.object->end()) return labels;
  const std::string where = ome.where + "labels";
  if (!it->is_array())
    return metadata::invalid(where, fmt::format("must be a list of paths, is {}", metadata::shown(*it)));
  for (const Json& item : *it) {
    const std::string name = fmt::format("{}[{}]", where, labels.size());
    if (!item.is_string()) return metadata::invalid(name, fmt::format("must be a path, is {}", metadata::shown(item)));
    labels.push_back(item.get<std::string>());
    if (const Status valid = check_key(labels.back()); !valid) return metadata::invalid(name, valid.error().message());
  }
  return labels;
}

Result<std::string> ngff_kind(std::string_view attributes_json) {
  PENSTOCK_ASSIGN(const Json attributes, ngff::parse_attributes(attributes_json));
  const auto ome = attributes.find("ome");
  const Json& object = ome != attributes.end() && ome->is_object() ? *ome : attributes;
  // A label image has both members.
  for (const auto& [key, kind] : {std::pair{"plate", "plate"}, std::pair{"well", "well"},
                                  std::pair{"image-label", "label image"}, std::pair{"multiscales", "image"},
                                  std::pair{"labels", "labels"}, std::pair{"bioformats2raw.layout", "collection"}})
    if (object.contains(key)) return std::string(kind);
  return std::string();
}

}  // namespace penstock

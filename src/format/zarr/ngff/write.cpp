// Images, labels -> OME-NGFF attributes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "format/format.hpp"
#include "format/members.hpp"
#include "format/zarr/ngff/ngff.hpp"

namespace penstock {
namespace {

using metadata::invalid;

Json transforms_json(const ImageLevel& level) {
  Json scale = Json::object();
  scale["type"] = "scale";
  scale["scale"] = level.scale;
  Json list = Json::array({std::move(scale)});
  if (std::ranges::any_of(level.translation, [](double v) { return v != 0; })) {
    Json translation = Json::object();
    translation["type"] = "translation";
    translation["translation"] = level.translation;
    list.push_back(std::move(translation));
  }
  return list;
}

Status check_level(const ImageLevel& level, std::size_t rank, std::string_view where) {
  if (const Status valid = check_key(level.path); !valid) return invalid(where, valid.error().message());
  if (level.scale.size() != rank || (!level.translation.empty() && level.translation.size() != rank))
    return invalid(where, fmt::format("scale and translation need {} numbers, one per axis", rank));
  for (const double value : level.scale)
    if (!std::isfinite(value) || value == 0) return invalid(where, "a scale must be finite and not 0");
  for (const double value : level.translation)
    if (!std::isfinite(value)) return invalid(where, "a translation must be finite");
  return {};
}

Result<Json> image_json(const Multiscale& image, const std::string& where) {
  if (image.axes.empty() || image.levels.empty()) return invalid(where, "an image needs axes and levels");
  Json out = Json::object();
  if (image.version == "0.4") out["version"] = image.version;
  if (!image.name.empty()) out["name"] = image.name;
  out["axes"] = Json::array();
  for (const ImageAxis& axis : image.axes) {
    Json item = Json::object();
    item["name"] = axis.name;
    if (!axis.type.empty()) item["type"] = axis.type;
    if (!axis.unit.empty()) item["unit"] = axis.unit;
    out["axes"].push_back(std::move(item));
  }
  out["datasets"] = Json::array();
  for (const ImageLevel& level : image.levels) {
    PENSTOCK_TRY(check_level(level, image.axes.size(), fmt::format("{}.datasets[{}]", where, out["datasets"].size())));
    Json item = Json::object();
    item["path"] = level.path;
    item["coordinateTransformations"] = transforms_json(level);
    out["datasets"].push_back(std::move(item));
  }
  return out;
}

/// The object that members go to: attributes["ome"], made if absent, or the attributes themselves.
Result<Json*> namespace_for(Json& attributes, std::string_view version) {
  if (version == "0.4") {
    if (attributes.contains("ome")) return invalid("ome", "a group with metadata of 0.5 cannot take those of 0.4");
    return &attributes;
  }
  Json& ome = attributes["ome"];
  if (ome.is_null()) ome = Json::object();
  if (!ome.is_object()) return invalid("ome", "must be an object");
  ome["version"] = version;
  return &ome;
}

/// Members that penstock does not write ("type", "metadata") stay with the image of the same name.
void keep_other_members(Json& image, const Json& before) {
  if (!before.is_array()) return;
  for (const Json& old : before) {
    if (!old.is_object() || old.value("name", Json()) != image.value("name", Json())) continue;
    for (const auto& [key, value] : old.items())
      if (!image.contains(key) && key != "coordinateTransformations" && key != "version") image[key] = value;
    return;
  }
}

std::string version_for(int zarr_format) { return zarr_format == 2 ? "0.4" : "0.5"; }

}  // namespace

Result<std::string> write_ngff(std::string_view attributes_json, const std::vector<Multiscale>& images) {
  PENSTOCK_ASSIGN(Json attributes, ngff::parse_attributes(attributes_json));
  if (images.empty()) return Error(ErrorCode::invalid_argument, "no image was given");
  const std::string& version = images.front().version;
  if (version != "0.4" && version != "0.5")
    return metadata::unsupported("version", fmt::format("OME-NGFF \"{}\"; penstock writes 0.4 and 0.5", version));
  PENSTOCK_ASSIGN(Json * target, namespace_for(attributes, version));
  Json list = Json::array();
  for (const Multiscale& image : images) {
    const std::string where = fmt::format("multiscales[{}]", list.size());
    if (image.version != version) return invalid(where, "images of one group have one version");
    PENSTOCK_ASSIGN(Json item, image_json(image, where));
    keep_other_members(item, target->value("multiscales", Json()));
    list.push_back(std::move(item));
  }
  (*target)["multiscales"] = std::move(list);
  return dump_json(attributes);
}

Result<std::string> write_ngff_labels(std::string_view attributes_json, const std::vector<std::string>& labels,
                                      int zarr_format) {
  PENSTOCK_ASSIGN(Json attributes, ngff::parse_attributes(attributes_json));
  for (const std::string& label : labels)
    if (const Status valid = check_key(label); !valid) return invalid("labels", valid.error().message());
  PENSTOCK_ASSIGN(Json * target, namespace_for(attributes, version_for(zarr_format)));
  (*target)["labels"] = labels;
  return dump_json(attributes);
}

Result<std::string> write_ngff_image_label(std::string_view attributes_json, std::string_view image_path,
                                           int zarr_format) {
  PENSTOCK_ASSIGN(Json attributes, ngff::parse_attributes(attributes_json));
  PENSTOCK_ASSIGN(Json * target, namespace_for(attributes, version_for(zarr_format)));
  Json label = target->value("image-label", Json(Json::object()));
  if (!label.is_object()) return invalid("image-label", "must be an object");
  if (zarr_format == 2) label["version"] = "0.4";
  if (!image_path.empty()) label["source"] = Json::object({{"image", image_path}});
  (*target)["image-label"] = std::move(label);
  return dump_json(attributes);
}

}  // namespace penstock

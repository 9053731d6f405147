// Nodes from one version of zarr to the other, and from other formats.
#include "core/json.hpp"
#include "format/position.hpp"
#include "format/zarr/consolidated.hpp"
#include "format/zarr/xarray.hpp"
#include "format/zarr/zarr.hpp"

namespace penstock {

namespace {

/// A data type is written by its usual name, which all programs read: not all know the second names of some.
Status forget_spelling(Dataset& dataset) {
  if (dataset.format.extra.empty()) return {};
  PENSTOCK_ASSIGN(Json extra, parse_json(dataset.format.extra));
  extra.erase("data_type");
  dataset.format.extra = extra.empty() ? std::string() : dump_json(extra);
  return {};
}

}  // namespace

Result<Dataset> as_zarr(Dataset dataset, std::optional<int> version) {
  if (!zarr_format(dataset.format)) {
    dataset.format = {"zarr", 3, ""};
    dataset.placement = KeyEncoding();
    PENSTOCK_TRY(tell_position(dataset));
    PENSTOCK_TRY(tell_missing(dataset));
  }
  if (!version || *version == dataset.format.version) {
    PENSTOCK_TRY(forget_spelling(dataset));
    return dataset;
  }
  dataset.format.version = *version;
  dataset.placement =
      *version == 3 ? KeyEncoding{KeyEncoding::Kind::standard, '/'} : KeyEncoding{KeyEncoding::Kind::v2, '.'};
  dataset.format.extra.clear();
  PENSTOCK_TRY(translate_xarray(dataset));
  return dataset;
}

Result<GroupInfo> as_zarr(GroupInfo group, std::optional<int> version) {
  PENSTOCK_ASSIGN(GroupInfo copy, without_consolidated(std::move(group)));
  if (!version || *version == copy.format.version) return copy;
  PENSTOCK_ASSIGN(auto images, parse_ngff(copy.attributes, copy.format.version));
  PENSTOCK_ASSIGN(const auto labels, parse_ngff_labels(copy.attributes));
  copy.format.version = *version;
  if (images.empty() && labels.empty()) return copy;
  PENSTOCK_ASSIGN(Json attributes, parse_json(copy.attributes));
  for (const char* old : {"ome", "multiscales", "labels"}) attributes.erase(old);
  copy.attributes = dump_json(attributes);
  for (Multiscale& image : images) image.version = *version == 2 ? "0.4" : "0.5";
  if (!images.empty()) {
    PENSTOCK_ASSIGN(copy.attributes, write_ngff(copy.attributes, images));
  }
  if (!labels.empty()) {
    PENSTOCK_ASSIGN(copy.attributes, write_ngff_labels(copy.attributes, labels, *version));
  }
  return copy;
}

Status set_dimension_separator(Dataset& dataset, std::string_view separator) {
  if (separator != "." && separator != "/")
    return Error(ErrorCode::invalid_argument, "the dimension separator is \".\" or \"/\"");
  std::get<KeyEncoding>(dataset.placement).separator = separator.front();
  return {};
}

}  // namespace penstock

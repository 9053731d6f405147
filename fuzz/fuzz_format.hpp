// What the fuzz targets of the metadata parsers share.
#pragma once
#include <string>

#include "format/zarr/zarr.hpp"
#include "fuzz.hpp"

namespace penstock::fuzz {

/// Everything that a Dataset says, as text.
inline std::string describe(const Dataset& d) {
  std::string text = std::to_string(d.format.version) + to_string(d.shape) + to_string(d.chunk_shape) + d.dtype.name();
  text += d.keys()->kind == KeyEncoding::Kind::v2 ? "v2" : "default";
  text += d.keys()->separator;
  text += as_text(d.fill);
  for (const CodecSpec& codec : d.codecs) text += "|" + codec.name + codec.configuration;
  for (const auto& name : d.dimension_names()) text += "|" + name.value_or("null");
  return text + "|" + d.attributes + "|" + d.format.extra;
}

/// What holds for every dataset that a parser has made.
inline void check_dataset(const Dataset& d) {
  demand(d.rank() <= kMaxRank && d.chunk_shape.size() == d.rank());
  demand(d.fill.empty() || d.dtype.is_vlen() || d.fill.size() == d.dtype.size_bytes);
  demand(d.dims.empty() || d.dims.size() == d.rank());
  demand(!d.codecs.empty());
  const Shape grid = d.grid_shape();
  demand(!d.keys()->key(grid).empty());
  (void)d.inner_chunk_shape();
  if (!d.fill.empty()) (void)fill_to_json(d.dtype, d.fill);
}

/// Images in attributes that parse are written and parsed to the same.
inline void check_images(const std::string& attributes, int zarr_format) {
  (void)parse_ngff_labels(attributes);
  (void)ngff_kind(attributes);
  const auto images = parse_ngff(attributes, zarr_format);
  if (!images || images->empty()) return;
  for (const Multiscale& image : *images) (void)validate_ngff(image, {});
  const auto text = write_ngff(attributes, *images);
  if (!text) return;  // images of several versions in one group
  const auto again = parse_ngff(*text, zarr_format);
  demand(again && again->size() == images->size());
  for (std::size_t i = 0; i < images->size(); ++i) {
    demand((*again)[i].levels.size() == (*images)[i].levels.size());
    for (std::size_t k = 0; k < (*images)[i].levels.size(); ++k) {
      demand((*again)[i].levels[k].path == (*images)[i].levels[k].path);
      demand((*again)[i].levels[k].scale == (*images)[i].levels[k].scale);
      demand((*again)[i].levels[k].translation == (*images)[i].levels[k].translation);
    }
  }
}

}  // namespace penstock::fuzz

// What a copy of an array may have otherwise than its source.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/dataset.hpp"
#include "penstock/region.hpp"

namespace penstock {

/// How `copy` changes an array.  Empty members keep what the source has.
struct CopyChanges {
  std::optional<Region> region;
  std::optional<int> zarr_format;
  std::optional<Shape> chunk_shape;                   ///< innermost chunks
  std::optional<Shape> shard_shape;                   ///< empty shape: no shards
  std::optional<std::vector<CodecSpec>> compressors;  ///< bytes->bytes codecs of the chunks
  std::optional<std::string> dimension_separator;
};
/// The dataset that `copy` would write.
PENSTOCK_API Result<Dataset> copied_dataset(const Dataset& from, const CopyChanges& changes);

/// Whether a copy goes on with one that was stopped, and keeps the objects that it wrote.
enum class Resume : std::uint8_t { no, yes };

}  // namespace penstock

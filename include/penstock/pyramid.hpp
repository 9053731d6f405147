// OME-NGFF images: an array with coarser levels of it, and labels of an image.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/array.hpp"
#include "penstock/ops.hpp"

namespace penstock {

/// How an image gets coarser levels.
struct PyramidOptions {
  Downsample method = Downsample::mean;
  int levels = 0;               ///< 0: until the largest spatial extent is 256 or less
  std::vector<ImageAxis> axes;  ///< empty: from dimension names, else the last of t, c, z, y, x
  std::vector<double> scale;    ///< of level 0; empty: as the array's dimensions say, else ones
  std::string name;
  std::vector<std::uint32_t> factor = {2};  ///< from level to level, of every axis of space, or one for each of them
  Device device = {};                       ///< where levels are made
};
/// Writes the coarser levels of an image whose level 0 is `from`, and the OME-NGFF metadata ("0.4" for zarr v2 arrays,
/// "0.5" for v3), into the group at `group_path`; level 0 is copied there when it is elsewhere.  The group's metadata
/// come last.  Errors: those of reading and writing.
PENSTOCK_API Result<Report> write_pyramid(const Array& from, std::shared_ptr<Store> to_store,
                                          std::string_view group_path, const PyramidOptions& pyramid,
                                          Array::IfExists if_exists, const Options& options);

/// Writes `from` as the label image `labels/NAME` of `image`, with axes and scale of the image's finest level where
/// `pyramid` gives none, and lists it in the group `labels`.  Errors: invalid_argument (no image, a name that is no
/// key, other axes than the image has), those of write_pyramid.
PENSTOCK_API Result<Report> write_label(const Group& image, std::string_view name, const Array& from,
                                        const PyramidOptions& pyramid, Array::IfExists if_exists,
                                        const Options& options);

}  // namespace penstock

// Which image of a raster file an array is, and what is known of it.
#include <fmt/format.h>

#include "array/raster/attributes.hpp"
#include "penstock/raster.hpp"

namespace penstock {

Result<RasterSource> raster_source(const Array& from) {
  PENSTOCK_ASSIGN(const Raster raster, Raster::open(from.store_ptr(), from.path()));
  const Dataset dataset = from.dataset();
  PENSTOCK_ASSIGN(const Array image, raster.level(0));
  RasterSource source{raster.info(), {}, dataset.nodata};
  const auto is_this = [&](const Array& array) { return array.dataset().format.extra == dataset.format.extra; };
  for (std::size_t k = 0; k < raster.level_count(); ++k) {
    const auto level = raster.level(k);
    const auto mask = raster.mask(k);
    const bool is_level = level && is_this(*level), is_mask = mask && *mask && is_this(**mask);
    if (!is_level && !is_mask) continue;
    if (k > 0) scale_to(image.dataset().shape, dataset.shape, source.info);
    if (is_mask) {
      RasterInfo place;
      place.transform = source.info.transform;
      place.pixel_is_point = source.info.pixel_is_point;
      place.crs = source.info.crs;
      place.gcps = source.info.gcps;
      place.bands.resize(1);
      source.info = std::move(place);
    } else {
      PENSTOCK_ASSIGN(source.mask, raster.mask(k));
      if (!source.nodata) source.nodata = image.dataset().nodata;
    }
    return source;
  }
  return Error(ErrorCode::changed,
               fmt::format("{}/{}: the file is another one than was opened", from.store_ptr()->url(), from.path()));
}

}  // namespace penstock

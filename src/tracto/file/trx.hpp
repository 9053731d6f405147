// TRX files: a zip, or a folder, of plain arrays.  https://github.com/tee-ar-ex/trx-spec
#pragma once
#include "tracto/file/tractogram.hpp"

namespace penstock::tracto {

/// A name that ends in '/' becomes a folder.  Offsets as uint64 with the number of points at their end; per streamline
/// seed, seed_index, length_mm and reason.  The points are written where they will stay, those of several batches
/// at a time; the other members grow beside them in temporary files without a name that are put behind them at the end.
Result<std::unique_ptr<TractogramWriter>> begin_trx(const std::string& path, const ImageGrid& grid,
                                                    const PerStreamline& says, PointType points);

}  // namespace penstock::tracto

// TRX files: a zip, or a folder, of plain arrays.  https://github.com/tee-ar-ex/trx-spec
#pragma once
#include "tracto/file/tractogram.hpp"

namespace penstock::tracto {

/// A name that ends in '/' becomes a folder.  Points as float32, offsets as uint64 with the number of points at their
/// end; per streamline seed, seed_index, length_mm and reason.  The members grow beside each other in temporary files
/// without a name and are put together at the end.
Result<std::unique_ptr<TractogramWriter>> begin_trx(const std::string& path, const ImageGrid& grid,
                                                    const PerStreamline& says);

}  // namespace penstock::tracto

// TCK, the track files of MRtrix.  https://mrtrix.readthedocs.io/en/latest/getting_started/image_data.html
#pragma once
#include "tracto/file/tractogram.hpp"

namespace penstock::tracto {

/// Points as float32 in the world; nothing is said of the image nor of each streamline.
Result<std::unique_ptr<TractogramWriter>> begin_tck(const std::string& path);

}  // namespace penstock::tracto

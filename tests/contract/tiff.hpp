// TIFF files in docs/support.md.
#pragma once
#include <string>

namespace penstock::contract {

/// What of TIFF is read, decoded on a device and written, as tables.  `ok`: false when something failed.
std::string tiff_text(bool& ok);

}  // namespace penstock::contract

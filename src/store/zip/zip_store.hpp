// Objects as members of a ZIP archive.
#pragma once
#include <memory>
#include <string>

#include "penstock/store.hpp"

namespace penstock {

/// A file that begins as a ZIP archive, or an absent one that is called "*.zip" or "*.ozx".
bool is_zip_path(const std::string& path);

/// Opens the archive; with StoreMode::create an absent one is begun (its directory is made).  Nothing appears under
/// `path` before flush(): until then the changes are in a hidden file beside it, ".NAME.penstock.tmp".
/// Errors: not_found, corrupt_data, unsupported, permission_denied, already_exists (another writer).
Result<std::shared_ptr<Store>> open_zip_store(const std::string& path, StoreMode mode, Durable durable);

}  // namespace penstock

// Objects on a web server: for reading, without a listing.
#pragma once
#include "store/list.hpp"

namespace penstock::http {

/// Options of the store.
std::span<const StoreOptionName> http_options();
/// Errors: invalid_argument (URL, options), unsupported (a mode that writes).
Result<std::shared_ptr<Store>> open_http_store(const StoreUrl& url, StoreMode mode, const StoreOptions& options);

}  // namespace penstock::http

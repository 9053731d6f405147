// Objects in a bucket of S3, or of what speaks its language.
#pragma once
#include "store/list.hpp"
#include "store/s3/credentials.hpp"

namespace penstock::s3 {

/// Options of the store.
std::span<const StoreOptionName> s3_options();
/// Asks nobody yet: what is not there the first request tells.
/// Errors: invalid_argument (URL, options), permission_denied (no credentials).
Result<std::shared_ptr<Store>> open_s3_store(const StoreUrl& url, StoreMode mode, const StoreOptions& options);

}  // namespace penstock::s3

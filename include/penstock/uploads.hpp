// Objects on their way into a bucket that never arrived.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/error.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// An object that is sent in parts: begun, and neither completed nor taken back.  Its writer lives, or was killed:
/// nobody can tell which.
struct PENSTOCK_API UnfinishedUpload {
  std::string url;                      ///< of what will stand, or would have: "s3://bucket/vol.zarr/c/0/0"
  std::string id;                       ///< the server's name of the upload
  std::optional<std::int64_t> begun_s;  ///< seconds since 1970 by the server's clock; nullopt: it does not say
};

/// Those of the store's own name and of all below it, in the server's order.  They are left as they are.
/// Errors: unsupported (a store that is no bucket, a server that does not tell), permission_denied, io_error.
[[nodiscard]] PENSTOCK_API Result<std::vector<UnfinishedUpload>> unfinished_uploads(const Store& store);

}  // namespace penstock

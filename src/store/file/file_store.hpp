// Objects as files of a directory.
#pragma once
#include <memory>
#include <string>

#include "penstock/store.hpp"

namespace penstock {

/// Opens the directory `path`; with StoreMode::create it and its parents are made.
/// Errors: not_found, permission_denied, io_error (a file stands there), unsupported (Links::inside without openat2).
Result<std::shared_ptr<Store>> open_file_store(const std::string& path, StoreMode mode, Durable durable, Links links);

}  // namespace penstock

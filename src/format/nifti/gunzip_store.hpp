// A store seen through gzip: objects named .nii.gz are their contents, read by ranges.
#pragma once
#include <memory>
#include <string_view>

#include "penstock/store.hpp"

namespace penstock {

/// `store` itself for any other `path`.  Contents are made from front to back; places on the way are remembered, so
/// that a range is made again from the one before it.  Read-only.  Memory: at most 256 places of 40 KiB for each
/// object.
std::shared_ptr<Store> seen_through_gzip(std::shared_ptr<Store> store, std::string_view path);

}  // namespace penstock

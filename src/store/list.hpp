// The kinds of store that penstock knows.  list.cpp is the one place where a kind is registered.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "penstock/store.hpp"

namespace penstock {

/// StoreOptions with what the settings say.
struct HowToOpen {
  Durable durable = Durable::none;
  Links links = Links::follow;
};

/// How a kind of store is recognised and opened.
struct StoreKind {
  std::string_view scheme;  ///< of its URLs: "file" for "file:///data/vol.zarr"
  std::string_view what;    ///< for people: "a directory"
  /// Whether a plain path without a scheme is for this kind; nullptr: never.  Asked in the order of the list.
  bool (*claims_path)(const std::string& path);
  /// Opens what stands behind "scheme://", percent-decoded, or the plain path.
  Result<std::shared_ptr<Store>> (*open)(const std::string& location, StoreMode mode, HowToOpen how);
};

/// All kinds, in the order in which a plain path is offered to them.
std::span<const StoreKind> store_list();

}  // namespace penstock

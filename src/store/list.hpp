// The kinds of store that penstock knows.  list.cpp is the one place where a kind is registered.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "penstock/store.hpp"

namespace penstock {

/// Where a store is, as it was given.
struct StoreUrl {
  std::string_view text;    ///< all of it; may hold secrets
  std::string_view scheme;  ///< "" for a plain path
  std::string_view rest;    ///< behind "scheme://"; of a plain path all
};

/// The path of a store in a file system, percent-decoded unless it is plain.
/// Errors: invalid_argument (a bad escape, a URL with a relative path).
Result<std::string> file_path_of(const StoreUrl& url);
/// The name behind "scheme://", percent-decoded.
Result<std::string> name_of(const StoreUrl& url);

/// An option that a kind of store has.
struct StoreOptionName {
  std::string_view name;
  std::string_view what;  ///< for people
};

/// How a kind of store is recognised and opened.
struct StoreKind {
  std::string_view scheme;  ///< of its URLs: "file" for "file:///data/vol.zarr"
  std::string_view what;    ///< for people: "a directory"
  /// Whether a plain path without a scheme is for this kind; nullptr: never.  Asked in the order of the list.
  bool (*claims_path)(const std::string& path);
  /// Opens it.  The options by name are some of those below; the others are given, as the settings say if nobody does.
  Result<std::shared_ptr<Store>> (*open)(const StoreUrl& url, StoreMode mode, const StoreOptions& options);
  std::span<const StoreOptionName> options = {};
};

/// All kinds, in the order in which a plain path is offered to them.
std::span<const StoreKind> store_list();

/// open_store among these kinds.
Result<std::shared_ptr<Store>> open_store_of(std::span<const StoreKind> kinds, const std::string& url, StoreMode mode,
                                             const StoreOptions& options);

}  // namespace penstock

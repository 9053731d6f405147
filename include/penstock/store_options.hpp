// How a store is opened.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// What is on the disk, safe from a power cut, when a call returns.  In each case whoever reads finds the old object or
/// the new one, also after the writer was killed.
enum class Durable : std::uint8_t {
  none,      ///< what the system has written back by then
  metadata,  ///< metadata documents, and before each of them everything that was written through the same handle
  all,       ///< every object, and its directory
};

/// Which symbolic links a directory store follows below its root.
enum class Links : std::uint8_t {
  follow,  ///< every one, also out of the store: for stores that you trust
  inside,  ///< those that stay below the root; any other is an error, for reading and for writing
};

/// What is said to a kind of store beyond the URL.
struct StoreOptions {
  std::optional<Durable> durable = {};  ///< left out: as the setting PENSTOCK_DURABLE says
  std::optional<Links> links = {};      ///< left out: as the setting PENSTOCK_LINKS says
  /// By the name that the kind of store gives them.  They may be secrets: no message holds a value.
  std::map<std::string, std::string, std::less<>> by_name = {};
};

/// `text` with the secrets of the URLs in it replaced by "***": user and password ("s3://user:password@host") and all
/// that stands behind '?' or '#' but for the names ("?X-Amz-Signature=***").  Paths without "://" stay as they are.
PENSTOCK_API std::string redacted(std::string_view text);
/// The error with its message and hint redacted.
PENSTOCK_API Error redacted(const Error& error);

}  // namespace penstock

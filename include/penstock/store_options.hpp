// How a store is opened.
#pragma once
#include <cstdint>
#include <optional>

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

/// What is left out is as the settings say: PENSTOCK_DURABLE, PENSTOCK_LINKS.
struct StoreOptions {
  std::optional<Durable> durable;
  std::optional<Links> links;
};

}  // namespace penstock

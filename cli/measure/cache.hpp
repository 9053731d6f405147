// The page cache of local files: how much of them it holds, and dropping them from it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::cli {

struct CacheState {
  std::uint64_t bytes = 0;         ///< of the files
  std::uint64_t cached_bytes = 0;  ///< of them, in memory
  [[nodiscard]] double fraction() const {
    return bytes == 0 ? 0 : static_cast<double>(cached_bytes) / static_cast<double>(bytes);
  }
};
/// Regular files at and below `path`.  Errors: not_found, io_error.
Result<std::vector<std::string>> files_below(const std::string& path);
/// What of them is in the page cache.  Errors: io_error.
Result<CacheState> cache_state(const std::vector<std::string>& files);
/// Asks the system to write them back and forget them; `cache_state` tells how far that went.  Errors: io_error.
Status drop_from_cache(const std::vector<std::string>& files);

}  // namespace penstock::cli

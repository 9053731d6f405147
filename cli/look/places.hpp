// What penstock doctor says of one place.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "penstock/store.hpp"

namespace penstock::cli {

/// One thing that was looked at.
struct Finding {
  std::string name, detail, verdict;  ///< verdict: "ok", or what it means and what to do
  Json json;
  std::vector<std::pair<std::string, std::string>> below = {};  ///< more lines of it, for people: name, detail
};

/// A path: the disk it is on, what serves it as a store, and which ways its bytes can take.  A URL: what serves it,
/// whether it answers and lists, and of a bucket which uploads are unfinished.  Changes nothing. Errors: not_found and
/// the like of paths; of a URL they are in the finding.
Result<Finding> look_at_place(const std::string& place, const StoreOptions& options);

}  // namespace penstock::cli

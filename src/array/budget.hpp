// How many workers fit into a memory budget.
#pragma once
#include <cstdint>

#include "penstock/array.hpp"

namespace penstock {

/// Threads and budget of one operation, defaults filled in.
struct Allowance {
  std::uint64_t budget_bytes = 0;
  std::uint64_t threads = 1;
  std::uint64_t workers = 1;      ///< threads that fit into the budget
  std::uint64_t spare_bytes = 0;  ///< what each of them may take beyond its need
};

/// `bytes_per_worker`: working memory of one piece.  Errors: budget_too_small, saying what is needed;
/// invalid_argument (settings).
Result<Allowance> allow(const Options& options, std::uint64_t bytes_per_worker);

}  // namespace penstock

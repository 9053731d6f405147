// How many workers fit into a memory budget.
#pragma once
#include <cstdint>

#include "penstock/error.hpp"
#include "penstock/options.hpp"

namespace penstock {

/// Threads and budget of one operation, defaults filled in.
struct BudgetPlan {
  std::uint64_t budget_bytes = 0;
  std::uint64_t threads = 1;
  std::uint64_t workers = 1;      ///< threads that fit into the budget
  std::uint64_t spare_bytes = 0;  ///< what each of them may take beyond its need
};

/// `bytes_per_worker`: working memory of one piece.  Errors: budget_too_small, saying what is needed;
/// invalid_argument (settings).
Result<BudgetPlan> plan_budget(const Options& options, std::uint64_t bytes_per_worker);

/// Whether one call may make so many decoded bytes of what is stored (the setting max_decoded): a small file can say
/// that it holds any number of them.  Errors: budget_too_small; those of the settings.
Status check_decoded(std::uint64_t bytes);

/// What an operation holds on `device` comes from here: options.memory, else the pool of the process.
/// Errors: invalid_argument (options.memory is of another device), no_device, device_error.
Result<std::shared_ptr<Memory>> working_memory(Device device, const Options& options);

/// Working memory of a write.
struct WriteNeed {
  std::uint64_t thread_bytes = 0;  ///< of each thread
  std::uint64_t object_bytes = 0;  ///< of each object under way, which many threads may work on; 0: it takes no more
  bool waits_for_disk = false;     ///< each object is forced to the disk (Durable::all)
};

/// Threads and objects of one write.
struct WriteBudget {
  std::uint64_t budget_bytes = 0;
  std::uint64_t threads = 1;
  std::uint64_t objects = 1;  ///< most under way at once
};

/// As many threads as the budget has room for beside one object, then as many objects, at most one for each thread.
/// Errors: those of allow.
Result<WriteBudget> plan_write_budget(const Options& options, const WriteNeed& need);

}  // namespace penstock

#include "exec/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"
#include "device/staging.hpp"
#include "exec/job.hpp"

namespace penstock {
namespace {

/// Without the buffers that were kept from earlier operations, which count too.
std::uint64_t free_bytes(std::uint64_t budget_bytes) {
  return reuse_within(budget_bytes) == Reuse::yes ? budget_bytes - kKeptBufferBytes : budget_bytes;
}

/// How many times `each_bytes` fit into `bytes`, at least once and at most `most` times.
std::uint64_t fit(std::uint64_t bytes, std::uint64_t each_bytes, std::uint64_t most) {
  return std::clamp<std::uint64_t>(bytes / std::max<std::uint64_t>(each_bytes, 1), 1, most);
}

std::uint64_t less(std::uint64_t bytes, std::uint64_t taken) { return bytes - std::min(bytes, taken); }

}  // namespace

Result<BudgetPlan> plan_budget(const Options& options, std::uint64_t bytes_per_worker) {
  BudgetPlan a{options.budget_bytes, options.threads, 1};
  if (a.budget_bytes == 0) {
    PENSTOCK_ASSIGN(a.budget_bytes, default_budget_bytes());
  }
  if (a.threads == 0) {
    PENSTOCK_ASSIGN(a.threads, default_threads());
  }
  if (bytes_per_worker > a.budget_bytes)
    return Error(ErrorCode::budget_too_small, fmt::format("a memory budget of {} is too small: one chunk needs {}",
                                                          format_bytes(a.budget_bytes), format_bytes(bytes_per_worker)))
        .set_hint(fmt::format("Allow at least {} bytes.", bytes_per_worker));
  const std::uint64_t free = free_bytes(a.budget_bytes);
  a.workers = fit(free, bytes_per_worker, a.threads);
  a.spare_bytes = free / a.workers;
  a.spare_bytes -= std::min(a.spare_bytes, bytes_per_worker);
  return a;
}

Status check_decoded(std::uint64_t bytes) {
  PENSTOCK_ASSIGN(const std::uint64_t allowed, default_max_decoded_bytes());
  if (bytes <= allowed) return {};
  return Error(ErrorCode::budget_too_small, fmt::format("{} of decoded data are asked for, max_decoded allows {}",
                                                        format_bytes(bytes), format_bytes(allowed)))
      .set_hint("Ask for less, or allow more: PENSTOCK_MAX_DECODED, or max_decoded in the configuration file.");
}

Result<std::shared_ptr<Memory>> working_memory(Device device, const Options& options) {
  if (!options.memory) return staging_memory(device);
  if (options.memory->device() != device)
    return Error(ErrorCode::invalid_argument, fmt::format("memory of {} was given for elements on {}",
                                                          options.memory->device().name(), device.name()));
  return options.memory;
}

Result<WriteBudget> plan_write_budget(const Options& options, const WriteNeed& need) {
  Options wanted = options;
  if (need.waits_for_disk && options.threads == 0) {
    PENSTOCK_ASSIGN(wanted.threads, default_waiting_threads());
  }
  PENSTOCK_ASSIGN(const BudgetPlan a, plan_budget(wanted, saturating_add(need.thread_bytes, need.object_bytes)));
  const std::uint64_t free = free_bytes(a.budget_bytes);
  const std::uint64_t threads = fit(less(free, need.object_bytes), need.thread_bytes, a.threads);
  return WriteBudget{a.budget_bytes, threads, fit(less(free, threads * need.thread_bytes), need.object_bytes, threads)};
}

}  // namespace penstock

#include "array/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/job.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"

namespace penstock {

Result<Allowance> allow(const Options& options, std::uint64_t bytes_per_worker) {
  Allowance a{options.budget_bytes, options.threads, 1};
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
  // Buffers that were kept from earlier operations count too.
  const std::uint64_t kept = reuse_within(a.budget_bytes) == Reuse::yes ? kKeptBufferBytes : 0;
  const std::uint64_t fit = (a.budget_bytes - kept) / std::max<std::uint64_t>(bytes_per_worker, 1);
  a.workers = std::clamp<std::uint64_t>(fit, 1, a.threads);
  a.spare_bytes = (a.budget_bytes - kept) / a.workers;
  a.spare_bytes -= std::min(a.spare_bytes, bytes_per_worker);
  return a;
}

}  // namespace penstock

// One call for each of many elements, on the threads of the CPU.
#pragma once
#include <algorithm>

#include "core/checked.hpp"
#include "exec/job.hpp"
#include "ops/tuning.hpp"

namespace penstock {

/// f(0) ... f(count - 1), by tasks of neighbours.  Errors: cancelled.
template <class F>
Status run_each(Job& threads, std::uint64_t count, const F& f) {
  return threads.for_each(div_up(count, tuning::kTaskElements), true, [&](std::uint64_t task) -> Status {
    const std::uint64_t last = std::min((task + 1) * tuning::kTaskElements, count);
    for (std::uint64_t i = task * tuning::kTaskElements; i < last; ++i) f(i);
    return {};
  });
}

}  // namespace penstock

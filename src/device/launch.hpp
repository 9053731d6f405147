// Tier 1: a function of an index, run once for every index below `n`, in no order.
#pragma once
#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include <cstdint>

#include "device/threads.hpp"

namespace penstock {

/// On the CPU, with the threads of the arena that the caller is in.  The CUDA twin is device/cuda/launch.cuh.
template <class F>
void launch_cpu(std::uint64_t n, const F& f) {
  constexpr std::uint64_t kGrain = 4096;  // below this a task costs more than it brings
  if (n <= kGrain || usable_threads(static_cast<std::uint64_t>(tbb::info::default_concurrency())) <= 1) {
    for (std::uint64_t i = 0; i < n; ++i) f(i);
    return;
  }
  // Isolated: a caller's own group that is cancelled must not leave indices out.
  tbb::task_group_context context(tbb::task_group_context::isolated);
  const auto run = [&f](const auto& range) {
    for (std::uint64_t i = range.begin(); i < range.end(); ++i) f(i);
  };
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, n, kGrain), run, context);
}

}  // namespace penstock

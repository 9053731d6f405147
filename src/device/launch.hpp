// Tier 1: a function of an index, run once for every index below `n`, in no order.
#pragma once
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstdint>

namespace penstock {

/// On the CPU, with the threads of the arena that the caller is in.  The CUDA twin is device/cuda/launch.cuh.
template <class F>
void launch_cpu(std::uint64_t n, const F& f) {
  constexpr std::uint64_t kGrain = 4096;  // below this a task costs more than it brings
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, n, kGrain), [&f](const auto& range) {
    for (std::uint64_t i = range.begin(); i < range.end(); ++i) f(i);
  });
}

}  // namespace penstock

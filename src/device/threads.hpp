// How many threads work can have.
#pragma once
#include <cstdint>

namespace penstock {

/// Threads that TBB may use at a time, the calling one among them: `wanted`, or as many as the system gave, at least
/// one.  To be asked before work goes to TBB: where a thread of TBB's own finds that it cannot make the next, the
/// process ends.  Tried with threads that live for a moment; what the system once refused is not asked for again.
[[nodiscard]] std::uint64_t usable_threads(std::uint64_t wanted);

}  // namespace penstock

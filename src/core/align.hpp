// How memory of a device is divided: every part begins at a multiple of kAlign.
#pragma once
#include <cstdint>

namespace penstock {

/// What CUDA promises of its own allocations, and more than any vector load wants.
inline constexpr std::uint64_t kAlign = 256;
/// `bytes`, rounded up to a multiple of kAlign.
constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace penstock

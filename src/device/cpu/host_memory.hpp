// Large blocks of host memory.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/pages.hpp"

namespace penstock {

/// `bytes` at `alignment` (a power of two), large blocks in whole huge pages, so that filling them faults less often.
/// Not initialised; freed with std::free.  nullptr when there is none.
void* allocate_host(std::uint64_t bytes, std::size_t alignment);

}  // namespace penstock

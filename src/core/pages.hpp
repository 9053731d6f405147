// Memory of the system: large blocks as pages of their own, and pages that are written for the first time.
#pragma once
#include <cstddef>
#include <cstdint>

#include "penstock/bytes.hpp"

namespace penstock {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// `bytes` at `alignment` (a power of two), not initialised; nullptr when there is none.  Of 256 KiB and more, pages
/// of their own, which go back to the system when they are freed: malloc's heaps, one for each thread, keep them, and
/// an operation within a budget took more than twice of it from the machine.  Of 4 MiB and more, whole huge pages, so
/// that filling them faults less often.
std::byte* take_memory(std::uint64_t bytes, std::size_t alignment);
/// Frees what `take_memory` gave for so many bytes.  nullptr: nothing.
void give_memory(void* data, std::uint64_t bytes) noexcept;

/// Has the system make the pages of memory that is about to be written, all in one call: one by one, as each is
/// touched, they cost half as much again.  What cannot be made so is made as it is touched.
void make_pages(ByteSpan memory);

}  // namespace penstock

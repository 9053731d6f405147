// Numbers that only change how fast operators are, with what they were chosen by.
#pragma once
#include <cstddef>
#include <cstdint>

namespace penstock::tuning {

/// Neighbours of the inner dimension that are worked on together: whole cache lines of a row.
inline constexpr std::size_t kLineWidth = 128;
/// Extended rows of a piece: half of a small second-level cache.
inline constexpr std::size_t kLineBytes = std::size_t{128} << 10;
/// What a slab of rows between two operators takes: it stays in the second-level cache.  Fewer slabs are not worth it.
inline constexpr std::size_t kSlabBytes = std::size_t{512} << 10, kMinSlabs = 8;
/// Elements that are worth a task of their own.
inline constexpr std::size_t kTaskElements = std::size_t{1} << 15;
/// Under footprints of up to so many elements, those held are sorted out; of more, the bits of the result are found.
inline constexpr std::size_t kForgetElements = 64;
/// Shared memory of a team on a device: what every device gives without being asked.
inline constexpr std::size_t kSharedBytes = std::size_t{48} << 10;

}  // namespace penstock::tuning

// Blocks of a transposed copy in vector registers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "array/assemble/copy_row.hpp"

namespace penstock::place {

/// A plane whose rows are contiguous in the source and whose columns are contiguous in the target.
struct TransposedPlane {
  std::byte* target;
  const std::byte* source;
  std::uint64_t across;        ///< words that follow each other in the source
  std::uint64_t along;         ///< words that follow each other in the target
  std::int64_t target_stride;  ///< bytes in the target between neighbours across
  std::int64_t source_stride;  ///< bytes in the source between neighbours along
};

/// Side of a block in words of `word_bytes`; 0: this processor has no vectors for it.
std::uint64_t transpose_block(std::size_t word_bytes);

/// Copies the plane; both counts are multiples of transpose_block(word_bytes), which is not 0.  `unit`, `store`: as
/// copy_row.
void transpose(const TransposedPlane& plane, std::size_t word_bytes, std::size_t unit, Store store);

}  // namespace penstock::place

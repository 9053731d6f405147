// How the scratch of a batch is laid out, and into how many slices the batch is cut.  Host only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/zstd/decode/workspace.hpp"
#include "penstock/error.hpp"

namespace penstock::zstd {

/// The scratch of a batch, shared out.  The counters, `counter_bytes` at `pages_taken`, must be set to 0 before the
/// first pass.
struct Layout {
  Workspace workspace;
  std::uint64_t counter_bytes = 0;
};

/// Errors: invalid_argument (scratch too small or not a multiple of 256).
Result<Layout> lay_out(const Batch& batch, std::span<std::byte> scratch);

}  // namespace penstock::zstd

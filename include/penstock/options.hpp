// How an operation may use the machine.
#pragma once
#include <cstdint>

#include "penstock/control.hpp"

namespace penstock {

/// What happens when a chunk cannot be decoded.
enum class OnError : std::uint8_t {
  fail,  ///< the read fails with the first error; the target's content is then unspecified but initialised memory
  fill,  ///< the chunk reads as the fill value and is listed in Report::problems
};

/// How an operation may use the machine.  Zero means the default; `penstock doctor --defaults` prints them.
struct Options {
  std::uint64_t budget_bytes = 0;  ///< working memory beyond the output; default a quarter of free memory
  std::uint64_t threads = 0;       ///< default: the CPUs this process may use
  OnError on_error = OnError::fail;
  bool store_fill_chunks = false;  ///< writing: also store chunks that hold only the fill value (not inside shards)
  CancelToken cancel;
  ProgressFn progress;
};

}  // namespace penstock

// How an operation may use the machine.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "penstock/api.hpp"
#include "penstock/control.hpp"
#include "penstock/device.hpp"

namespace penstock {

/// What happens when a chunk cannot be decoded.
enum class OnError : std::uint8_t {
  fail,  ///< the read fails with the first error; the target's content is then unspecified but initialised memory
  fill,  ///< the chunk reads as the fill value and is listed in Report::problems
};

/// How an operation may use the machine.  Zero means the default; `penstock doctor --defaults` prints them.
struct PENSTOCK_API Options {
  std::uint64_t budget_bytes = 0;  ///< working memory beyond the output; default a quarter of free memory
  std::uint64_t threads = 0;       ///< default: the CPUs this process may use
  OnError on_error = OnError::fail;
  bool store_fill_chunks = false;  ///< writing: also store chunks that hold only the fill value (not inside shards)
  CancelToken cancel;
  ProgressFn progress;
  /// The operation ends with the error timed_out when this has passed; looked at as often as `cancel`.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<CodecPlace> decode;  ///< of chunks that go to a device; default: the setting `decode`
  std::optional<CodecPlace> encode;  ///< of chunks from a device; default: the setting `encode`
  /// Where new tensors and the working memory on a device come from (a foreign allocator); nullptr: penstock's own
  /// pools.  It must be of the device that the elements are on.
  std::shared_ptr<Memory> memory;

  /// `cancel`, with the deadline.
  [[nodiscard]] CancelToken stop() const { return deadline ? cancel.until(*deadline) : cancel; }
};

}  // namespace penstock

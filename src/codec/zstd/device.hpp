// zstd frames decoded on a CUDA device: several passes over a batch of chunks, parallel also inside a frame.
// docs/concepts/decoding.md explains them; the algorithms are in codec/zstd/decode/, for every executor of a Team.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/status.hpp"
#include "penstock/device.hpp"

namespace penstock::zstd {

/// What is done with the checksum behind a frame, if there is one.
enum class Checksums : std::uint32_t { verify, ignore };

/// A batch as the host knows it.  What the pointers reach is memory that the device can reach; tasks and results may be
/// in pinned host memory: each is read and written once.
struct Batch {
  const DecodeTask* tasks = nullptr;  ///< `count`; whole frames, of which exactly out_bytes must come
  ChunkStatus* results = nullptr;     ///< `count`; written when the batch is done
  std::uint32_t count = 0;
  std::uint64_t decoded_bytes = 0;  ///< sum of the tasks' out_bytes
  std::uint64_t largest_bytes = 0;  ///< the largest out_bytes of a task
  Checksums checksums = Checksums::verify;
};

/// Scratch with which most batches run in one go: 1.5 times their decoded bytes, and at least twice what one chunk can
/// take, which is 2.8 times its bytes.  Small batches, which 8 MiB and that of one chunk hold in the worst
/// case, get all they could ask for.
[[nodiscard]] std::uint64_t scratch_bytes(std::uint32_t count, std::uint64_t decoded_bytes,
                                          std::uint64_t largest_bytes);
/// The least that decode_cuda takes.  Between the two, a batch is decoded in slices, one after the other.
[[nodiscard]] std::uint64_t min_scratch_bytes(std::uint32_t count, std::uint64_t decoded_bytes,
                                              std::uint64_t largest_bytes);

/// Decodes a batch in the order of `stream`; returns before it is done; waits for nothing and allocates nothing.
/// `scratch`: device memory at a multiple of 256, which belongs to the batch until it is done.  A bad chunk does not
/// disturb the others: its result says why, and where in its input; what is in its output then is unspecified.  A chunk
/// for which needs_cpu() holds is not bad.
/// Errors: invalid_argument (not a CUDA stream; scratch too small or not aligned), unsupported (built without CUDA),
/// device_error.
[[nodiscard]] Status decode_cuda(const Batch& batch, std::span<std::byte> scratch, const Stream& stream);

}  // namespace penstock::zstd

// The passes of the decoder on a CUDA device one by one, and the shapes in which they are launched: what decode_cuda is
// made of, for the benchmark to time and vary.
#pragma once
#include <cstdint>

#include "codec/zstd/decode/layout.hpp"

namespace penstock::zstd {

/// How a batch is spread over the device.
struct LaunchShape {
  std::uint32_t sequence_blocks = 8;    ///< a warp takes at a time: 1, 2, 4 or 8
  std::uint32_t execute_threads = 256;  ///< for a chunk: 64, 128, 256 or 1024
  bool many_chunks = false;             ///< 48 registers a thread, so that more of them are under way
  std::uint32_t blocks = 1;             ///< expected in a slice
};

/// The shape that was quickest for such batches: few streams of sequences a warp as long as that leaves each scheduler
/// of a multiprocessor (there are four) a warp or less, since lanes that wait for each other are slower; as many
/// threads a chunk as there are for it.
constexpr LaunchShape choose_shape(const Layout& layout, const Batch& batch, std::uint32_t multiprocessors) {
  const std::uint64_t usual_pages = batch.decoded_bytes / 100 * 140 / kPageBytes + 1;
  const std::uint64_t slices = layout.workspace.slices_of(usual_pages);
  const std::uint64_t mean = batch.count == 0 ? 0 : batch.decoded_bytes / batch.count;
  const std::uint64_t chunks = (batch.count + slices - 1) / slices;
  const std::uint64_t blocks = chunks * ((mean + kMaxBlockBytes - 1) / kMaxBlockBytes);
  LaunchShape shape;
  shape.blocks = static_cast<std::uint32_t>(blocks < 1 ? 1 : blocks < kMaxPages ? blocks : kMaxPages);
  shape.sequence_blocks = blocks <= 4 * multiprocessors    ? 1
                          : blocks <= 8 * multiprocessors  ? 2
                          : blocks <= 16 * multiprocessors ? 4
                                                           : 8;
  shape.execute_threads = chunks <= multiprocessors        ? 1024
                          : chunks <= 6 * multiprocessors  ? 256
                          : chunks <= 12 * multiprocessors ? 128
                                                           : 64;
  shape.many_chunks = chunks >= 40 * multiprocessors;
  return shape;
}

enum class Pass : std::uint8_t { parse, list, literals, sequences, execute, verify };

/// Starts one pass over one slice (parse: over all slices) in the order of `stream`.  Errors: device_error, unsupported
/// (built without CUDA).
[[nodiscard]] Status run_pass_cuda(Pass pass, const Layout& layout, std::uint32_t slice, const LaunchShape& shape,
                                   const Stream& stream);
/// Of the stream's device.
[[nodiscard]] Result<std::uint32_t> multiprocessors_cuda(const Stream& stream);

}  // namespace penstock::zstd

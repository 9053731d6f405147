// One bytes->bytes codec away from any array, over a batch of chunks: on the cores of the CPU, or on the device that
// holds them.  What zarr-python's codecs ask for.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/codec.hpp"
#include "codec/device_decoder.hpp"
#include "penstock/api.hpp"
#include "penstock/options.hpp"

namespace penstock {

/// The codec with these parameters.  Errors: unsupported (no such codec, one of another kind), invalid_metadata.
PENSTOCK_API Result<std::unique_ptr<BytesToBytes>> make_bytes_codec(const CodecSpec& spec);

/// An encoded chunk in host memory.
struct EncodedChunk {
  ByteView bytes;
  std::optional<std::uint64_t> expected_bytes;  ///< decoded size; another one is decoded too, at twice the cost
};

/// Decodes all chunks, `options.threads` at a time.
/// Errors: those of the first bad chunk, "chunk 3 of 64: codec zstd: ..."; cancelled.
PENSTOCK_API Result<std::vector<Bytes>> decode_batch(const BytesToBytes& codec, std::span<const EncodedChunk> chunks,
                                                     const Options& options);
/// Encodes all chunks, `options.threads` at a time.  Errors: as decode_batch.
PENSTOCK_API Result<std::vector<Bytes>> encode_batch(const BytesToBytes& codec, std::span<const ByteView> chunks,
                                                     const Options& options);

/// Memory that decode_batch_on takes besides the tasks' input and output, on the device.
PENSTOCK_API std::uint64_t room_bytes(const DeviceDecoder& decoder, std::span<const DecodeTask> tasks);

/// Decodes `tasks`, whose memory is that of the stream's device, in the order of the stream, and waits for it.  The
/// results are one for each task.  `room`: room_bytes, at a multiple of 256.
/// Errors: invalid_argument (room), unsupported (the decoder checks and writes nothing), device_error.
PENSTOCK_API Result<std::vector<ChunkStatus>> decode_batch_on(const DeviceDecoder& decoder,
                                                              std::span<const DecodeTask> tasks, ByteSpan room,
                                                              const Stream& stream);

}  // namespace penstock

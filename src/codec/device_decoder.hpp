// What a codec offers for decoding on a device: a batch of chunks in, a batch out, one status each.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "codec/status.hpp"
#include "penstock/bytes.hpp"
#include "penstock/device.hpp"

namespace penstock {

/// Sizes of a batch, for planning memory.
struct BatchSize {
  std::uint32_t count = 0;
  std::uint64_t decoded_bytes = 0;  ///< sum of the tasks' out_bytes
  std::uint64_t largest_bytes = 0;  ///< the largest of them
};

/// A batch as the host knows it.  All pointers reach memory that the device can read and write.
struct DeviceBatch {
  const DecodeTask* tasks = nullptr;
  ChunkStatus* results = nullptr;
  BatchSize size;
};

/// Bytes around the decoded ones, in the encoded chunk.
struct Envelope {
  std::uint32_t front = 0, back = 0;
};

/// The device decoder of one codec with its parameters.  Immutable, thread-safe.
/// On a stream of the CPU it runs the same algorithm on the calling thread: for tests and fuzzing.
class DeviceDecoder {
 public:
  virtual ~DeviceDecoder() = default;
  /// Name for reports and for the table of costs (codec/cost/table.hpp): "lz4".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Whose it is, for reports: "own", "nvCOMP 6.0".
  [[nodiscard]] virtual std::string_view implementation() const { return "own"; }
  /// Device memory that a batch needs besides its input and output.
  [[nodiscard]] virtual std::uint64_t scratch_bytes(const BatchSize& /*size*/) const { return 0; }
  /// Set when the decoded bytes stand in the encoded ones as they are (checksums): the decoder then only checks them,
  /// and `out` of a task is not used.
  [[nodiscard]] virtual std::optional<Envelope> wrapping() const { return std::nullopt; }
  /// Set when decoding changes nothing: the decoder is never called.
  [[nodiscard]] virtual bool is_identity() const { return false; }
  /// Decodes in the order of `stream`; returns before it is done, without waiting for the device and without
  /// allocating. `scratch` has scratch_bytes, begins at a multiple of 256 and is in use until the batch is done. A bad
  /// chunk does not disturb the others; what is in its output then is unspecified. Errors: invalid_argument,
  /// unsupported (built without CUDA), device_error.
  [[nodiscard]] virtual Status decode(const DeviceBatch& batch, ByteSpan scratch, const Stream& stream) const = 0;
};

}  // namespace penstock

// What a codec offers for encoding on a device: a batch of chunks in, a batch out.  The mirror of device_decoder.hpp.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "penstock/bytes.hpp"
#include "penstock/device.hpp"

namespace penstock {

/// Where one chunk comes from and goes to, in device memory.  Both begin at a multiple of 16.
struct EncodeTask {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::uint64_t room = 0;  ///< bytes at `out`
};

/// The size of a chunk that an encoder could not make: it is too large for the format, or `room` did not suffice.
inline constexpr std::uint64_t kNotEncoded = ~std::uint64_t{0};

/// A batch as the host knows it.  All pointers reach memory that the device can read and write.  Sizes are known on the
/// device only: what one encoder made is what the next one takes.
struct EncodeBatch {
  const EncodeTask* tasks = nullptr;
  const std::uint64_t* in_bytes = nullptr;  ///< of each chunk; kNotEncoded is passed on
  std::uint64_t* out_bytes = nullptr;       ///< written by the encoder
  std::uint32_t count = 0;
  std::uint64_t largest_bytes = 0;  ///< no chunk has more
};

/// What a choice between device and CPU rests on (docs/benchmarks.md).  Of a compressor the core's rate is the slowest
/// that was measured: whether it is quicker on the data at hand is tried.
struct EncodeSpeed {
  double one_chunk_ns_per_byte = 1;  ///< of a single chunk on an empty device
  double device_bytes_per_ns = 20;   ///< of a batch that fills the device
  double core_bytes_per_ns = 1;      ///< of the CPU's encoder, per core
};

/// The device encoder of one codec with its parameters.  Immutable, thread-safe.  It makes the same bytes on every
/// executor, a CPU's stream included, on which it runs the same algorithm on the calling thread: for tests and fuzzing.
class DeviceEncoder {
 public:
  virtual ~DeviceEncoder() = default;
  /// Name for reports: "lz4".
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual EncodeSpeed speed() const = 0;
  /// Whether it compresses in another way than the CPU's encoder, so that the sizes differ.
  [[nodiscard]] virtual bool compresses() const { return false; }
  /// Most bytes that a chunk of so many can become; the tasks have that much room.
  [[nodiscard]] virtual std::uint64_t max_bytes(std::uint64_t in_bytes) const = 0;
  /// Device memory that a batch needs besides its input and output.
  [[nodiscard]] virtual std::uint64_t scratch_bytes(std::uint32_t /*count*/, std::uint64_t /*largest_bytes*/) const {
    return 0;
  }
  /// Encodes in the order of `stream`; returns before it is done, without waiting for the device and without
  /// allocating.  `scratch` has scratch_bytes, begins at a multiple of 256 and is in use until the batch is done.
  /// Errors: invalid_argument, unsupported (built without CUDA), device_error.
  [[nodiscard]] virtual Status encode(const EncodeBatch& batch, ByteSpan scratch, const Stream& stream) const = 0;
};

}  // namespace penstock

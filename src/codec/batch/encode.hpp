// One bytes->bytes codec away from any array, over a batch of chunks in a device's memory: encoded there, or left to
// the CPU.  What zarr-python's codecs ask for; the mirror of decode_batch_on (array/bytes_batch.hpp).
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/codec.hpp"
#include "codec/device_encoder.hpp"
#include "penstock/api.hpp"
#include "penstock/control.hpp"

namespace penstock {

/// What became of a batch.
struct EncodedBatch {
  bool on_device = false;         ///< else the CPU is to encode it
  std::string reason;             ///< why it is encoded there
  std::vector<ByteView> encoded;  ///< on_device: the chunks, in the room; without data: the device could not encode it
};

/// A codec with its device encoder, and what trying it out has shown.  Thread-safe.
class PENSTOCK_API BatchEncoder {
 public:
  /// `codec` has a device encoder.  `place`: where it is encoded; default: the setting `encode`.
  explicit BatchEncoder(std::shared_ptr<const BytesToBytes> codec, std::optional<CodecPlace> place = {});

  /// Name of the device encoder.
  [[nodiscard]] std::string_view name() const { return encoder_->name(); }
  /// Whether a batch of so many chunks goes to the device, perhaps only to be tried there.  The setting decides;
  /// with `auto` the last trial does, which is good for some hundred chunks.  Errors: those of the setting.
  [[nodiscard]] Result<bool> wants_device(std::uint64_t chunks);
  /// Memory that `encode` takes besides the chunks, on the device.
  [[nodiscard]] std::uint64_t room_bytes(std::span<const ByteView> chunks) const;
  /// Encodes chunks that are in the memory of the stream's device, in the order of the stream, and waits for it.
  /// `room`: room_bytes, at a multiple of 256.  With `auto`, when a trial is due, some chunks are encoded by the CPU
  /// too: it is given the batch where it is quicker on `threads` threads (0: PENSTOCK_THREADS), or the device's chunks
  /// are more than 2 % larger.
  /// Errors: invalid_argument (room), device_error, those of the codec and of the settings.
  [[nodiscard]] Result<EncodedBatch> encode(std::span<const ByteView> chunks, ByteSpan room, std::uint64_t threads,
                                            const Stream& stream);

 private:
  struct Choice {
    bool on_device = true;
    std::string reason;
    std::uint64_t chunks_left = 0;  ///< that it is good for
  };
  [[nodiscard]] Result<Choice> choice() const;
  void used(std::uint64_t chunks);
  [[nodiscard]] Result<Choice> tried(std::span<const ByteView> chunks, std::span<const ByteView> encoded,
                                     double seconds, std::uint64_t threads, const Stream& stream) const;

  std::shared_ptr<const BytesToBytes> codec_;
  std::unique_ptr<DeviceEncoder> encoder_;
  std::optional<CodecPlace> place_;
  mutable std::mutex mutex_;
  Choice tried_;
};

}  // namespace penstock

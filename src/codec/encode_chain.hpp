// A codec chain on a device in the direction of writing: which of its codecs have device encoders, and batches of
// chunks through all of them.  The mirror of codec/device_chain.hpp.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "codec/chain.hpp"
#include "codec/device_encoder.hpp"

namespace penstock {

/// The encoders of a chain in encoding order.  What comes before them only moves bytes (axis order, byte order) and is
/// left to whoever gathers the chunks, as CodecChain::raw_layout says.  Immutable; the chain may go.
class EncodeChain {
 public:
  /// Errors: unsupported, naming the codec that has no device encoder.
  static Result<EncodeChain> make(const CodecChain& chain);
  /// "shuffle + lz4 + crc32c", in encoding order.
  [[nodiscard]] std::string text() const;
  /// Bytes of a chunk before the first encoder.
  [[nodiscard]] std::uint64_t raw_bytes() const { return raw_bytes_; }
  /// Most bytes that a chunk can become.
  [[nodiscard]] std::uint64_t max_bytes() const { return steps_.empty() ? raw_bytes_ : steps_.back().max_bytes; }
  /// Whether a step compresses in its own way, so that the sizes are not those of the CPU's encoders.
  [[nodiscard]] bool compresses() const;
  /// Seconds on the device and on `cores` of the CPU for `chunks` chunks.
  [[nodiscard]] double device_seconds(std::uint64_t chunks) const;
  [[nodiscard]] double cpu_seconds(std::uint64_t chunks, std::uint64_t cores) const;

 private:
  friend class EncodeRun;
  struct Step {
    std::unique_ptr<DeviceEncoder> encoder;
    std::string codec;
    std::uint64_t in_bytes = 0;   ///< most of a chunk
    std::uint64_t max_bytes = 0;  ///< of its output
  };
  std::vector<Step> steps_;
  std::uint64_t raw_bytes_ = 0;
};

/// One batch of chunks through an EncodeChain, in memory of the caller; it allocates nothing.
class EncodeRun {
 public:
  EncodeRun(const EncodeChain& chain, std::uint32_t count) : chain_(&chain), count_(count) {}
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// Memory that it takes; both begin at a multiple of 256.
  [[nodiscard]] std::uint64_t host_bytes() const;
  [[nodiscard]] std::uint64_t device_bytes() const;

  /// Says where the memory is and uploads what describes the batch.  `host` is in use until the stream is done.
  /// raw_sizes: what raw_sizes() begins with, raw_bytes or kNotEncoded.
  [[nodiscard]] Status begin(std::byte* host, std::byte* device, std::uint64_t raw_sizes, const Stream& stream);
  /// Where the raw bytes of a chunk are to be put on the device, between `begin` and `encode`.
  [[nodiscard]] std::byte* raw(std::uint32_t chunk) const;
  /// On the device: raw_bytes for each chunk; kNotEncoded leaves it out.
  [[nodiscard]] std::uint64_t* raw_sizes() const { return sizes(0); }
  /// Encodes, and brings the sizes back.
  [[nodiscard]] Status encode(const Stream& stream) const;

  // Once the stream is done:
  [[nodiscard]] bool left_out(std::uint32_t chunk) const { return host_sizes(0)[chunk] == kNotEncoded; }
  /// Bytes of an encoded chunk.  Errors: internal, naming the codec that could not encode it.
  [[nodiscard]] Result<std::uint64_t> encoded_bytes(std::uint32_t chunk) const;
  /// Where they are on the device.
  [[nodiscard]] const std::byte* encoded(std::uint32_t chunk) const;
  /// Device memory that is free then, for all encoded chunks one after another at multiples of 16.
  [[nodiscard]] std::byte* free_memory() const;

 private:
  [[nodiscard]] std::size_t steps() const { return chain_->steps_.size(); }
  [[nodiscard]] std::uint64_t sizes_bytes() const;
  [[nodiscard]] std::uint64_t words_bytes() const;
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  /// Bytes of a chunk in the two buffers between which the steps alternate.
  [[nodiscard]] std::array<std::uint64_t, 2> strides() const;
  [[nodiscard]] std::byte* buffer(std::size_t which) const;
  [[nodiscard]] std::uint64_t* sizes(std::size_t step) const {
    return reinterpret_cast<std::uint64_t*>(device_) + step * count_;
  }
  [[nodiscard]] const std::uint64_t* host_sizes(std::size_t step) const {
    return reinterpret_cast<const std::uint64_t*>(host_) + step * count_;
  }

  const EncodeChain* chain_;
  std::uint32_t count_;
  std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;
};

}  // namespace penstock

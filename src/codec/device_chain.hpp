// A codec chain on a device: which of its codecs have device decoders, and batches of chunks through all of them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "codec/chain.hpp"
#include "codec/cost/costs.hpp"
#include "codec/device_decoder.hpp"
#include "codec/nvcomp/device.hpp"

#include "penstock/api.hpp"

namespace penstock {

/// The decoders of a chain in decoding order.  Immutable; the chain may go.
class PENSTOCK_API DeviceChain {
 public:
  /// Errors: unsupported, naming the codec that has no device decoder and why.
  static Result<DeviceChain> make(const CodecChain& chain);
  /// Hands the steps over to nvCOMP that it can do; with `costs`, those that it does more quickly for `chunks` chunks
  /// by what was measured.  Returns how many.
  std::size_t hand_to_nvcomp(const std::shared_ptr<const nvcomp::Library>& library, const CodecCosts* costs,
                             std::uint64_t chunks);
  /// "crc32c + zstd (own)", in decoding order, with whose the decoders are.
  [[nodiscard]] std::string text() const;
  /// Bytes of a chunk after the last step, as CodecChain::decode_to_layout leaves it.
  [[nodiscard]] std::uint64_t decoded_size() const { return decoded_size_; }
  /// Seconds on the device and on `cores` of the CPU for `chunks` chunks.  Errors: those of CodecCosts::seconds.
  [[nodiscard]] Result<double> device_seconds(const CodecCosts& costs, std::uint64_t chunks) const;
  [[nodiscard]] Result<double> cpu_seconds(const CodecCosts& costs, std::uint64_t chunks, std::uint64_t cores) const;

 private:
  friend class ChainBatch;
  struct Step {
    std::unique_ptr<DeviceDecoder> decoder;
    std::string codec;
    std::uint64_t out_bytes = 0;                  ///< of a chunk; unused with a wrapping
    std::optional<Envelope> wrapping;             ///< its output is part of its input
    std::optional<nvcomp::Format> nvcomp_format;  ///< as which nvCOMP could do it
    DecodedBy by = DecodedBy::device;
  };
  Status add(std::unique_ptr<DeviceDecoder> decoder, const Codec& codec, std::optional<std::uint64_t> out_bytes);
  [[nodiscard]] std::uint64_t decoded_bytes(const Step& step) const;

  std::vector<Step> steps_;
  std::uint64_t decoded_size_ = 0;
};

/// One batch of chunks through a DeviceChain.  First `add` all chunks; then either fill host memory and `run`, or, when
/// the chunks are in device memory already, write_words, bring those up, `decode`, and bring the results back.  Then
/// look at the outcomes.  It allocates nothing on a device: all memory is the caller's.
class PENSTOCK_API ChainBatch {
 public:
  explicit ChainBatch(const DeviceChain& chain) : chain_(&chain) {}

  /// Adds a chunk of so many encoded bytes, which go up with the batch.
  void add(std::uint64_t encoded_bytes) { add_at(nullptr, encoded_bytes); }
  /// Adds a chunk whose encoded bytes will be at `encoded` in device memory when the batch is decoded.
  void add_at(const std::byte* encoded, std::uint64_t encoded_bytes);
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(encoded_.size()); }
  /// Memory that the batch takes now, without chunks that are elsewhere.  Both begin at a multiple of 256.
  [[nodiscard]] std::uint64_t host_bytes() const;
  [[nodiscard]] std::uint64_t device_bytes() const;
  /// Where the encoded bytes of a chunk go, from the beginning of the host memory.
  [[nodiscard]] std::uint64_t encoded_at(std::uint32_t chunk) const { return words_bytes() + offsets_[chunk]; }

  /// Uploads, decodes and brings the statuses back, in the order of `stream`.  `host` is in use until that is done.
  [[nodiscard]] Status run(std::byte* host, std::byte* device, const Stream& stream);

  /// What stands at the beginning of both memories: results_bytes() of results, then tasks.
  [[nodiscard]] std::uint64_t words_bytes() const;
  [[nodiscard]] std::uint64_t results_bytes() const;
  /// Writes the words for a batch whose device memory is at `device`.
  void write_words(std::byte* host, std::byte* device);
  /// Decodes what is in device memory, once or again.
  [[nodiscard]] Status decode(const Stream& stream) const;
  /// The results, once they are in host memory; in use as long as outcomes are asked for.
  void take_results(const std::byte* host) { results_ = reinterpret_cast<const ChunkStatus*>(host); }

  /// The decoded bytes of a chunk in device memory.
  [[nodiscard]] const std::byte* decoded(std::uint32_t chunk) const { return decoded_[chunk]; }
  /// Of the first step that refused the chunk, once the stream has done the batch.
  struct Outcome {
    Status status;
    bool needs_cpu = false;  ///< nothing is wrong with the bytes
  };
  [[nodiscard]] Outcome outcome(std::uint32_t chunk) const;

 private:
  using Step = DeviceChain::Step;
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  [[nodiscard]] BatchSize batch_size(const Step& step) const;
  /// Bytes of the two buffers between which the writing steps alternate.
  [[nodiscard]] std::array<std::uint64_t, 2> buffer_strides() const;

  const DeviceChain* chain_;
  std::vector<const std::byte*> elsewhere_;  ///< encoded bytes that do not go up with the batch, or nullptr
  std::vector<std::uint64_t> encoded_, offsets_;
  std::uint64_t encoded_end_ = 0;    ///< of those that do
  std::uint64_t encoded_total_ = 0;  ///< of all
  std::vector<const std::byte*> decoded_;
  std::vector<std::uint64_t> decoded_bytes_;
  std::byte* device_ = nullptr;
  const ChunkStatus* results_ = nullptr;
};

}  // namespace penstock

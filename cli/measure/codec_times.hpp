// Times of every decoder, for the table of costs: on a device, by nvCOMP, and on a core of the CPU.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/measure/samples.hpp"
#include "codec/codec.hpp"
#include "codec/cost/table.hpp"
#include "codec/device_chain.hpp"
#include "penstock/control.hpp"
#include "penstock/device.hpp"
#include "penstock/region.hpp"

namespace penstock::cli {

/// A chain of one codec that has a device decoder, and what it is timed with.
struct CodecCase {
  std::string name;  ///< of the decoder: "blosc(lz4)"
  CodecSpec codec;
  std::vector<Sample> samples;
  [[nodiscard]] std::vector<CodecSpec> chain() const;
  /// Of a chunk of so many elements.
  [[nodiscard]] Shape shape(std::uint64_t elements) const;
};
/// One for each name that a DeviceDecoder in a chain can have.
std::span<const CodecCase> codec_cases();

/// Where and how much is measured.
struct TimesOptions {
  std::uint64_t threads = 1;                      ///< that decode at once when a core is timed
  std::optional<Device> device;                   ///< nullopt: cores only
  std::shared_ptr<const nvcomp::Library> nvcomp;  ///< nullptr: without
  std::uint64_t device_bytes = 0;                 ///< most memory of a batch, there and on the host
  CancelToken cancel;
};

/// Times decoders; every decoded byte is compared with what was encoded.
class CodecTimes {
 public:
  explicit CodecTimes(TimesOptions options) : options_(std::move(options)) {}
  /// A row for each sample and each decoder.  Errors: internal (other bytes came out), cancelled, those of the
  /// codecs and of the device.
  Result<std::vector<CostRow>> measure(const CodecCase& codec);

 private:
  using Raw = std::vector<std::byte>;
  struct Chunks;
  const std::vector<Raw>& raw(Sample sample, std::uint64_t chunk_bytes);
  [[nodiscard]] Result<double> core_seconds(const CodecChain& chain, const Chunks& chunks) const;
  [[nodiscard]] Status add_device_points(const DeviceChain& chain, const Chunks& chunks, CostRow& row) const;
  [[nodiscard]] Result<double> batch_seconds(ChainBatch& batch, const Chunks& chunks) const;

  TimesOptions options_;
  std::map<std::pair<Sample, std::uint64_t>, std::vector<Raw>> raw_;
};

}  // namespace penstock::cli

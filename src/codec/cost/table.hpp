// What decoding costs: the times of each decoder, as `penstock bench codecs` measures them and keeps them in a file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Who decodes: our decoder on a device, nvCOMP on it, or one core of the CPU while all others work as well.
enum class DecodedBy : std::uint8_t { device, nvcomp, core };

/// A measured batch: `chunks` chunks of `chunk_bytes` decoded bytes each took `seconds`.
struct CostPoint {
  std::uint64_t chunk_bytes = 0;
  std::uint64_t chunks = 0;  ///< 1 of a core
  double seconds = 0;
};

/// What was measured of one decoder on one kind of data.
struct CostRow {
  std::string codec;  ///< DeviceDecoder::name: "zstd", "blosc(lz4)"
  DecodedBy by = DecodedBy::device;
  std::string data;               ///< "u16", "shuffled u16", "labels"
  std::vector<CostPoint> points;  ///< by chunk_bytes, then by chunks
};

/// A table with where it comes from.
struct PENSTOCK_API CostTable {
  std::string origin;   ///< "penstock bench codecs"
  std::string machine;  ///< "NVIDIA H200, Intel(R) Xeon(R) Processor, 16 CPUs"
  std::string date;     ///< "2026-11-22T08:00:00Z"
  std::string commit;
  std::string nvcomp;  ///< its version; empty: was not measured
  std::vector<CostRow> rows;

  /// Reads what `text` writes; strictly.  Errors: invalid_argument naming the key.
  static Result<CostTable> parse(std::string_view text);
  /// As JSON, a line for each row.
  [[nodiscard]] std::string text() const;

  /// Time of a batch, between the measured ones in the logarithms of sizes, counts and seconds: for each kind of data,
  /// then the geometric mean of those.  A batch beyond the measured ones takes as long as its bytes say; small chunks
  /// take as long as their bytes do in chunks of the smallest size measured, and on a device no less than one of these.
  /// nullopt: there is no such row.
  [[nodiscard]] std::optional<double> seconds(std::string_view codec, DecodedBy by, std::uint64_t chunk_bytes,
                                              std::uint64_t chunks) const;
};

}  // namespace penstock

// Bits written from the first byte on, lowest first, which decoders read from the end (RFC 8878, 4.1).
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::zstd {

/// Writes into [at, end) of `out`; what does not fit is left out, and `fits` says so.  By one lane.  Without initial
/// values: it also lies in shared memory, which takes none.
struct BitWriter {
  std::uint8_t* out;
  std::uint32_t at, end;
  std::uint64_t bits;  ///< not yet written
  std::uint32_t held;  ///< how many
  bool fits;

  PENSTOCK_HD static BitWriter make(std::uint8_t* out, std::uint32_t at, std::uint32_t end) {
    return {out, at, end, 0, 0, true};
  }

  /// At most 24 bits.
  PENSTOCK_HD void put(std::uint32_t value, std::uint32_t count) {
    bits |= static_cast<std::uint64_t>(value & ((1u << count) - 1)) << held;
    held += count;
    while (held >= 8) {
      byte(static_cast<std::uint8_t>(bits));
      bits >>= 8;
      held -= 8;
    }
  }
  /// Fills the last byte with zeros.
  PENSTOCK_HD void pad() {
    if (held > 0) byte(static_cast<std::uint8_t>(bits));
    bits = held = 0;
  }
  /// Ends a stream that is read backwards: a 1 above its last bit.
  PENSTOCK_HD void close() {
    put(1, 1);
    pad();
  }
  PENSTOCK_HD void byte(std::uint8_t value) {
    if (at < end)
      out[at++] = value;
    else
      fits = false;
  }
};

}  // namespace penstock::zstd

// Reading regions of any size into host memory, piece by piece.
#pragma once
#include <functional>

#include "penstock/array.hpp"

namespace penstock::cli {

/// Takes the elements of one piece, C order, native byte order.
using PieceFn = std::function<Status(const Region& piece, ByteView elements)>;
/// Reads `region` on `device` in pieces that share the budget with the read itself, and hands them on in C order of the
/// region.  Errors: budget_too_small, those of reading, those of `take`.
Status read_in_pieces(const Array& array, const Region& region, Device device, const Options& options,
                      const PieceFn& take);

/// One read of a whole region on a device, timed without the way back to the host.
struct TimedRead {
  double seconds = 0;
  Report report;
};
/// Reads into memory of `device` (made before the clock starts) and copies the elements to `into` after it stops.
Result<TimedRead> read_timed(const Array& array, const Region& region, Device device, const Options& options,
                             ByteSpan into);

}  // namespace penstock::cli

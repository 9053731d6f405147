// Reading regions of any size into host memory, slice by slice.
#pragma once
#include <functional>

#include "penstock/array.hpp"

namespace penstock::cli {

/// Takes the elements of one slice, C order, native byte order.
using SliceFn = std::function<Status(ByteView elements)>;
/// Reads `region` on `device` in slices that share the budget with the read itself, and hands them on in C order of the
/// region.  The first is small, so that whoever waits for it need not wait long.  The report sums up all slices.
/// Errors: budget_too_small, those of reading, those of `take`.
Result<Report> read_in_slices(const Array& array, const Region& region, Device device, const Options& options,
                              const SliceFn& take);

/// One read of a whole region on a device, timed without the way back to the host.
struct TimedRead {
  double seconds = 0;
  Report report;
};
/// Reads into memory of `device` (made before the clock starts) and copies the elements to `into` after it stops.
Result<TimedRead> read_timed(const Array& array, const Region& region, Device device, const Options& options,
                             ByteSpan into);

}  // namespace penstock::cli

// Operators on arrays in stores.
#pragma once
#include <cstdint>

#include "penstock/array.hpp"
#include "penstock/bytes.hpp"

namespace penstock {

/// Maximum along one axis, block by block in bounded memory, on the CPU or on a CUDA device.
/// `from`: shape (d0, ..., d(n-1)), whole numbers of 1 to 8 bytes, float32 or float64.  `axis`: 0 to n-1, of extent 1
/// or more. `out`: becomes the C-order elements of the shape without `axis`, native byte order, host memory. As in
/// NumPy, a NaN anywhere along the axis makes the result NaN. Errors: invalid_argument (axis), unsupported (data type),
/// no_device, those of reading. Memory: one block on the device within half of Options::budget_bytes; the rest is for
/// reading.
Result<Report> project_max(const Array& from, std::size_t axis, Device device, const Options& options, Bytes& out);

}  // namespace penstock

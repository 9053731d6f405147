// Grey pictures.
#pragma once
#include <cstdint>
#include <span>

#include "penstock/bytes.hpp"
#include "penstock/dtype.hpp"

namespace penstock::cli {

/// Elements (C order, whole numbers or floats) as 8-bit grey: the 0.1 and 99.9 percentiles become black and white.
/// Errors: unsupported (data type), out_of_memory.
Result<Bytes> to_grey(const DType& dtype, ByteView elements);

/// Grey rows of `width` bytes as a PNG file.  Errors: invalid_argument (empty, or sides above 2^31 - 1), io_error.
Result<Bytes> encode_png(ByteView grey, std::uint64_t width, std::uint64_t height);

}  // namespace penstock::cli

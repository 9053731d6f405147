// Headers of NumPy's .npy files.  https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once
#include <span>
#include <string>

#include "penstock/dtype.hpp"
#include "penstock/region.hpp"

namespace penstock::cli {

/// Everything before the elements of a C-order array: magic, version, length, padded dictionary.
/// Errors: unsupported (a dtype that .npy cannot hold: variable length, bfloat16).
Result<std::string> npy_header(const DType& dtype, std::span<const std::uint64_t> shape);

}  // namespace penstock::cli

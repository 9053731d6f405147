// Small arrays as NumPy's .npy files: transforms and fields of correction.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once
#include <span>
#include <string>
#include <vector>

#include "penstock/bytes.hpp"
#include "penstock/region.hpp"

namespace penstock::oct {

/// Numbers in C order, and their shape.
struct NpyArray {
  Shape shape;
  std::vector<double> values;
};
/// Reads float32 and float64, little endian, C order.  Errors: corrupt_data (at which byte), unsupported (type, order).
Result<NpyArray> parse_npy(ByteView bytes);
/// A file of float64 elements.
std::string npy_text(std::span<const std::uint64_t> shape, std::span<const double> values);

Result<NpyArray> read_npy(const std::string& path);
Status write_npy(const std::string& path, std::span<const std::uint64_t> shape, std::span<const double> values);

}  // namespace penstock::oct

// Boxes of volumes in memory, as kernels see them.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::oct {

/// Planes of rows; the elements of a row follow each other.  T: float, const float.
template <class T>
struct BoxOf {
  T* data = nullptr;
  std::uint64_t depth = 0, rows = 0, cols = 0;
  std::int64_t plane = 0, row = 0;  ///< distances, in elements

  [[nodiscard]] PENSTOCK_HD std::uint64_t columns() const { return rows * cols; }
  [[nodiscard]] PENSTOCK_HD std::uint64_t elements() const { return depth * rows * cols; }
  [[nodiscard]] PENSTOCK_HD T* at(std::uint64_t z, std::uint64_t r, std::uint64_t c) const {
    return data + static_cast<std::int64_t>(z) * plane + static_cast<std::int64_t>(r) * row +
           static_cast<std::int64_t>(c);
  }
  /// The first element of column number i, counted row by row.
  [[nodiscard]] PENSTOCK_HD T* column(std::uint64_t i) const { return at(0, i / cols, i % cols); }
};
using Box = BoxOf<float>;
using ConstBox = BoxOf<const float>;

}  // namespace penstock::oct

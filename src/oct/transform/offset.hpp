// By how much one image lies from another: the offset with the best correlation of what they share.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::oct {

/// An image in host memory, row by row.  0 (and NaN) says that nothing was measured there.
struct Image {
  std::uint64_t rows = 0, cols = 0;
  std::vector<float> values;
  [[nodiscard]] float at(std::uint64_t r, std::uint64_t c) const { return values[r * cols + c]; }
};

/// Where element (0, 0) of an image lies in another, and the normalised correlation there.
struct Offset {
  double row = 0, col = 0;
  double score = 0;
};

/// Looks within `reach` pixels of a guess, coarse to fine, and then between pixels.  nullopt: nowhere do they share
/// enough that varies.
std::optional<Offset> find_offset(const Image& fixed, const Image& moving, const Offset& guess, std::uint64_t reach);

}  // namespace penstock::oct

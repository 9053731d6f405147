// By how much one image lies from another: the offset with the best correlation of what they share.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oct/transform/kernel.hpp"
#include "oct/work.hpp"

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

/// Two of many images, and where the second lies in the first, about.
struct ImagePair {
  std::size_t fixed = 0, moving = 0;
  Offset guess;
};

/// Looks within `reach` pixels of each guess, coarse to fine, and then between pixels, for all pairs at once where the
/// work is; the same to the bit on every device.  nullopt: nowhere do they share enough that varies.
Result<std::vector<std::optional<Offset>>> find_offsets(std::span<const transform::ImageView> images,
                                                        std::span<const ImagePair> pairs, std::uint64_t reach,
                                                        const Workspace& work);
/// The same of one pair.
Result<std::optional<Offset>> find_offset(const transform::ImageView& fixed, const transform::ImageView& moving,
                                          const Offset& guess, std::uint64_t reach, const Workspace& work);

}  // namespace penstock::oct

// A region as it is written: NumPy drops the dimensions that an integer indexes.
#pragma once
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/region.hpp"

namespace penstock {

struct PENSTOCK_API Selection {
  Region region;               ///< a Range for each dimension of the array
  std::vector<bool> is_index;  ///< of each: given by an integer
  /// The shape that NumPy gives the result: without the dimensions that an integer indexes.
  [[nodiscard]] Shape shape() const;
};

/// Parses as `parse_region` does, with the same errors.
PENSTOCK_API Result<Selection> parse_selection(std::string_view text, std::span<const std::uint64_t> shape);

}  // namespace penstock

// truth.json of a made subject, as far as it is compared.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/json.hpp"

namespace penstock::oct {

struct TruthSlice {
  std::uint64_t id = 0, planes = 0;
  double surface = 0;  ///< planes above the tissue, on average
  std::int64_t galvo_shift = 0;
  bool agarose = false;                          ///< nothing there says where it lies
  std::vector<std::array<double, 2>> positions;  ///< of tiles, row by row of the grid: (row, column), pixels
  /// Planes of it that lie below its surface.
  [[nodiscard]] double depth() const { return static_cast<double>(planes) - surface; }
};

struct Truth {
  std::uint64_t interval = 0;  ///< planes from slice to slice
  std::uint64_t rows = 0, cols = 0;
  std::vector<TruthSlice> slices;  ///< those that are not missing
};

/// Errors: invalid_metadata, naming the member.
Result<Truth> parse_truth(std::string_view text);

/// A number of a JSON document.  Errors: invalid_metadata naming `what`.
Result<double> to_number(const Json& value, std::string_view what);

}  // namespace penstock::oct

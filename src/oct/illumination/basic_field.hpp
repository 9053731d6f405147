// Flat fields of a mosaic by BaSiC: tiles to the images that it is fitted to, and its fields to tiles.
#pragma once
#include "oct/illumination/basic.hpp"
#include "oct/tiles/tile_step.hpp"

namespace penstock::oct {

/// Fields over a tile, one for all planes or one for each, mean 1.
struct Fields {
  std::uint64_t planes = 1;
  std::vector<float> values;  ///< (planes, rows, columns)
};

/// Looks at all tiles and makes fields of them; called as a TileStep.
class FieldMaker {
 public:
  virtual ~FieldMaker() = default;
  virtual Status begin(const Tiles& in, std::uint64_t allowance_bytes) = 0;
  [[nodiscard]] virtual std::uint64_t scratch_bytes() const = 0;
  [[nodiscard]] virtual std::uint32_t least_looks() const = 0;
  virtual bool looks() = 0;
  virtual Status look(std::uint64_t tile, const Tensor& elements, const Tools& tools) = 0;
  virtual Status looked(const Tools& tools) = 0;
  [[nodiscard]] virtual const Fields& fields() const = 0;
  [[nodiscard]] virtual std::uint64_t tiles_used() const = 0;
  virtual void tell(Metrics& metrics) const = 0;
};

struct BasicFieldOptions {
  bool each_plane = true;            ///< else one field for all
  double percentile_max = 99.9;      ///< of the mosaic; what is brighter counts as it
  std::uint64_t working_size = 128;  ///< rows and columns that tiles are fitted at, at most
  std::uint64_t max_samples = 500;   ///< images that one field is fitted to
  BasicOptions solver;
};
/// Errors: invalid_argument.
Result<std::unique_ptr<FieldMaker>> make_basic_field(const BasicFieldOptions& how);

}  // namespace penstock::oct

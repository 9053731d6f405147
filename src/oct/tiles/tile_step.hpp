// A step that makes a tile of a tile: what it must know of all of them first, and the work on one.
//
// Steps of this kind that follow each other are run as one (`tiles/run.hpp`): a tile is read once and written once,
// and stays where it is worked on between them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "oct/file/volume.hpp"
#include "oct/step.hpp"
#include "oct/work.hpp"

namespace penstock::oct {

/// Tiles of a mosaic grid.
struct Tiles {
  TileGrid grid;
  std::uint64_t depth = 0;
  std::vector<double> spacing_mm, offset_mm;
  std::uint64_t levels = 1;  ///< of the pyramid, where they are written

  [[nodiscard]] Shape tile() const { return {depth, grid.tile_rows, grid.tile_cols}; }
  [[nodiscard]] Shape mosaic() const { return {depth, grid.rows * grid.tile_rows, grid.cols * grid.tile_cols}; }
  [[nodiscard]] std::uint64_t tile_bytes() const;
};

/// One step of a run.
class TileStep {
 public:
  virtual ~TileStep() = default;
  /// What it is given, before anything else; `allowance_bytes`: what it may hold of its own.  Says what it will make as
  /// far as that is known now.  Errors: those of options that do not fit.
  virtual Result<Tiles> begin(const Tiles& in, std::uint64_t allowance_bytes) = 0;
  /// Working memory for one tile, beside the one that it is given and the one that it makes.
  [[nodiscard]] virtual std::uint64_t scratch_bytes() const = 0;
  /// How often it looks at all tiles, at least.
  [[nodiscard]] virtual std::uint32_t least_looks() const { return 0; }
  /// Whether it must look at all tiles (again) before it can make the first.
  virtual bool looks() { return false; }
  /// Looks at a tile, packed; each is shown once a time, from several threads.
  virtual Status look(std::uint64_t /*tile*/, const Tensor& /*elements*/, const Tools& /*tools*/) { return {}; }
  /// All have been shown.
  virtual Status looked(const Tools& /*tools*/) { return {}; }
  /// What it makes, once nothing is left to look at.
  [[nodiscard]] virtual Tiles out() const = 0;
  /// The tile made of one, packed, which it leaves as it is.
  virtual Result<Tensor> make(std::uint64_t tile, Tensor elements, const Tools& tools) const = 0;
  /// Files beside the output `path`, metrics and text.
  virtual Status finish(const std::string& /*path*/, StepDone& /*done*/) { return {}; }
};

}  // namespace penstock::oct

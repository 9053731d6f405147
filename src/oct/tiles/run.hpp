// Runs steps that make tiles of tiles, as many as follow each other, as one.
#pragma once
#include <span>

#include "oct/tiles/tile_step.hpp"

namespace penstock::oct {

/// Elements that went from and to the store, as bytes before they are encoded.
struct TileTraffic {
  std::uint64_t read_bytes = 0, written_bytes = 0;
};

/// A step of a run, and where what it says of itself goes.
struct TileStage {
  std::unique_ptr<TileStep> step;
  StepDone done = {};
};

/// Reads each tile of `in`, takes it through all stages, and writes `out`.  Where a stage looks at all tiles first,
/// they are kept as far as a quarter of the budget has room for them, and read again where it has not. Memory: at most
/// Options::budget_bytes, and two tiles at least. Errors: those of the stages, already_exists, budget_too_small, those
/// of reading and writing.
Result<TileTraffic> run_tiles(const std::string& in, const std::string& out, std::span<TileStage> stages, bool force,
                              Device device, const Options& options);

/// What `run_tiles` would read and write.
struct TileForecast {
  TileTraffic traffic;
  std::uint64_t kept_bytes = 0;      ///< of tiles that are kept between looks
  std::vector<std::uint32_t> looks;  ///< of each stage, the least
  Tiles out;                         ///< as far as it is known before anything is looked at
};
/// Reads nothing.
Result<TileForecast> forecast_tiles(const Tiles& in, std::span<TileStage> stages, const Options& options);
/// The tiles of a mosaic grid.  Errors: those of tile_grid.
Result<Tiles> tiles_of(const Volume& mosaic, const std::string& path);
/// Says in the metrics where tiles were worked on, and how much was read and written.
void note_traffic(const TileTraffic& traffic, Device device, Metrics& metrics);

/// One step by itself: what the list's `run` is for steps of this kind.
Result<StepDone> run_tile_step(const StepCall& call, std::unique_ptr<TileStep> step);

}  // namespace penstock::oct

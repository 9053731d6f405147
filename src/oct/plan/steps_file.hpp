// A file of steps that follow each other, in TOML.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oct/step.hpp"

namespace penstock::oct {

/// A step of the file, its call read and checked.
struct FileStep {
  const Step* step = nullptr;
  OctCall call;       ///< paths: what it reads and what it writes; the latter is empty where it is not to be kept
  std::string place;  ///< "steps.toml:12"
  [[nodiscard]] const std::string& in() const { return call.paths[0]; }
  [[nodiscard]] const std::string& out() const { return call.paths[1]; }
};

/// Reads
///   input = "mosaic.ome.zarr"
///   output = "ready.ome.zarr"
///   [[step]]
///   name = "resample-mosaic"
///   resolution_um = 20
///   [[step]]
///   name = "fix-focal-curvature"
/// A step takes what the one before it made, and what it makes is kept where it says `output`; the last one's is the
/// file's `output`.  `_` and `-` are the same in names.  `path` is for messages.
/// Errors: invalid_argument (not TOML; a step, option or value that there is not; no input or output), with file, line
/// and what there is.
Result<std::vector<FileStep>> parse_steps(std::string_view text, const std::string& path);

}  // namespace penstock::oct

// The folder of a reconstruction: what stands there so far, and what its steps measured.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "oct/transform/offset.hpp"
#include "oct/transform/tile_transform.hpp"

namespace penstock::oct {

using Slices = std::map<std::uint64_t, std::string>;  ///< paths by slice

/// A warning of a step.
struct StepWarning {
  std::string file, text;
};

/// How the tiles of a stitched slice lie.
struct SliceTiles {
  TileLayout layout;
  std::uint64_t tile_rows = 0, tile_cols = 0;
};

class RunFolder {
 public:
  /// Errors: not_found (nothing of a reconstruction is there), corrupt_data and invalid_metadata, with the path.
  static Result<RunFolder> open(std::string path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string volume_path() const;
  [[nodiscard]] bool has_volume() const { return volume_; }
  /// Slices of which the image is complete.
  [[nodiscard]] const Slices& stitched() const { return stitched_; }
  [[nodiscard]] const Slices& placed() const { return placed_; }
  /// What reconstruct was told; null where nobody told.
  [[nodiscard]] const Json& settings() const { return settings_; }

  /// A number out of the metrics of the step that cut a slice off; nullopt: it has not, or says something else.
  [[nodiscard]] Result<std::optional<double>> crop_number(std::uint64_t slice, std::string_view name) const;
  /// Numbers by slice out of those of common-space.
  [[nodiscard]] Result<std::map<std::uint64_t, double>> common_numbers(std::string_view name) const;
  /// nullopt: the slice's transform or projection is not there.
  [[nodiscard]] Result<std::optional<SliceTiles>> tiles_of(std::uint64_t slice) const;
  [[nodiscard]] Result<std::vector<StepWarning>> warnings() const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] std::string slice_file(std::string_view prefix, std::uint64_t slice, std::string_view rest) const;
  [[nodiscard]] Result<Slices> slices(std::string_view process) const;
  [[nodiscard]] Result<std::optional<Json>> measured(const std::string& json, std::string_view name) const;

  std::string path_;
  bool volume_ = false;
  Slices stitched_, placed_;
  Json settings_;
};

}  // namespace penstock::oct

// reconstruct.json: what a run was asked for, so that --resume takes nothing of another one for its own.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "oct/file/shifts.hpp"
#include "oct/step.hpp"

namespace penstock::oct {

struct RunSettings {
  Json options = Json::object();       ///< what decides slices by themselves, and how far they lie apart
  Json positions_mm = Json::object();  ///< [y, x] of each slice, by its number: what decides where they lie

  static RunSettings of(const StepCall& call, std::span<const SlicePosition> positions);
  /// Positions are empty where the file has none.  Errors: invalid_metadata.
  static Result<RunSettings> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  /// "depth_um was 300, is 520": the first option that is another one here than `before`; empty: there is none.
  [[nodiscard]] std::string difference(const RunSettings& before) const;
};

}  // namespace penstock::oct

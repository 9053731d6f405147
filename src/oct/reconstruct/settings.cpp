#include "oct/reconstruct/settings.hpp"

#include <fmt/format.h>

namespace penstock::oct {
namespace {

constexpr const char* kNumbers[] = {"resolution_um", "axial_resolution_um", "slicing_interval_mm", "depth_um"};
constexpr const char* kPositions = "positions_mm";

}  // namespace

RunSettings RunSettings::of(const StepCall& call, std::span<const SlicePosition> positions) {
  RunSettings made;
  for (const char* name : kNumbers) made.options[name] = call.number(name);
  made.options["raw"] = call.path(0);
  for (const SlicePosition& p : positions) made.positions_mm[std::to_string(p.slice)] = Json::array({p.y_mm, p.x_mm});
  return made;
}

Result<RunSettings> RunSettings::parse(std::string_view text) {
  RunSettings read;
  PENSTOCK_ASSIGN(const Json all, parse_json(text));
  if (!all.is_object()) return Error(ErrorCode::invalid_metadata, "it is no JSON object");
  for (const auto& [name, value] : all.items()) {
    if (name == kPositions)
      read.positions_mm = value;
    else
      read.options[name] = value;
  }
  return read;
}

std::string RunSettings::text() const {
  Json all = options;
  all[kPositions] = positions_mm;
  return dump_json(all, 2) + "\n";
}

std::string RunSettings::difference(const RunSettings& before) const {
  for (const auto& [name, value] : options.items()) {
    const auto was = before.options.find(name);
    if (was == before.options.end()) return name + " is not told";
    if (*was != value) return fmt::format("{} was {}, is {}", name, dump_json(*was), dump_json(value));
  }
  return {};
}

}  // namespace penstock::oct

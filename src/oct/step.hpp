// A step of the reconstruction: what it takes, and the function that does it.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oct/file/metrics.hpp"
#include "penstock/oct.hpp"

namespace penstock::oct {

/// Thrown by what asks a StepCall for a value that it does not have: the step does not declare it so.  `run_step` makes
/// an error of it.
struct NoSuchOption {
  std::string name;
};

/// A call with every value read and checked: what the step declares as required or with a default is there.
class StepCall {
 public:
  /// Errors: invalid_argument (an option or path that the step does not have, lacks, or cannot read).
  static Result<StepCall> make(const OctStep& step, const OctCall& call, const Options& options);

  [[nodiscard]] const std::string& path(std::size_t i) const { return paths_[i]; }
  [[nodiscard]] bool given(std::string_view name) const { return values_.contains(name); }
  /// The value of an option that is given or has a default.  Throws NoSuchOption.
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] std::uint64_t count(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const { return given(name); }

  Device device;
  bool force = false;
  Options options;

 private:
  using Value = std::variant<bool, double, std::uint64_t, std::string>;
  template <class T>
  [[nodiscard]] const T& value(std::string_view name) const;
  std::vector<std::string> paths_;
  std::map<std::string, Value, std::less<>> values_;
};

/// What a step gives: metrics, and a text for people where there is more to say than "done".
struct StepDone {
  Metrics metrics;
  std::string text = {};
  bool good = true;
  bool wrote = true;  ///< false: nothing was written, metrics are not either
};

class TileStep;  // tiles/tile_step.hpp

/// A row of the list.
struct Step {
  OctStep what;
  /// Does it.  nullptr: the step makes tiles of tiles, and nothing else.
  Result<StepDone> (*run)(const StepCall& call) = nullptr;
  /// The work on one tile of a mosaic grid after the other, which runs as one with that of its neighbours; it gives
  /// nullptr where the options ask for something else, which `run` does.  nullptr: the step does not work so.
  Result<std::unique_ptr<TileStep>> (*tiles)(const StepCall& call) = nullptr;
  bool in_place = false;  ///< its output may be its input, of which it keeps what it reads
};

/// Makers of options, for the declarations of steps.
inline OctOption number_option(std::string name, std::string fallback, std::string help) {
  return {std::move(name), OctOption::Kind::number, std::move(fallback), std::move(help), false, {}};
}
inline OctOption count_option(std::string name, std::string fallback, std::string help) {
  return {std::move(name), OctOption::Kind::count, std::move(fallback), std::move(help), false, {}};
}
inline OctOption text_option(std::string name, std::string fallback, std::string help) {
  return {std::move(name), OctOption::Kind::text, std::move(fallback), std::move(help), false, {}};
}
inline OctOption path_option(std::string name, std::string help) {
  return {std::move(name), OctOption::Kind::path, "", std::move(help), true, {}};
}
inline OctOption optional_path_option(std::string name, std::string help) {
  return {std::move(name), OctOption::Kind::path, "", std::move(help), false, {}};
}
inline OctOption flag_option(std::string name, std::string help) {
  return {std::move(name), OctOption::Kind::flag, "", std::move(help), false, {}};
}
inline OctOption choice_option(std::string name, std::vector<std::string> choices, std::string help) {
  std::string first = choices.front();
  return {std::move(name), OctOption::Kind::text, std::move(first), std::move(help), false, std::move(choices)};
}
inline OctOption required(OctOption option) {
  option.required = true;
  return option;
}

}  // namespace penstock::oct

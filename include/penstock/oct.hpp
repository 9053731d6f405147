// Serial optical coherence tomography: raw tiles to a volume, step by step or by one call.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/device.hpp"
#include "penstock/options.hpp"

namespace penstock {

/// An option of a step.
struct OctOption {
  /// What its text must be.
  enum class Kind : std::uint8_t {
    number,  ///< finite
    count,   ///< whole, not negative
    text,
    path,
    flag,  ///< "true" or "false"; left out: false
  };
  std::string name;  ///< "slicing_interval_mm": with its unit; `-` for `_` on the command line
  Kind kind = Kind::number;
  std::string fallback;  ///< the default as text; empty: there is none
  std::string help;
  bool required = false;
  std::vector<std::string> choices;  ///< no other text is taken; empty: any
};

/// A file or folder that a step reads or writes.
struct OctArgument {
  std::string name;  ///< "MOSAIC"
  std::string help;
  bool output = false;
};

/// What there is to know of a step.
struct OctStep {
  std::string name;  ///< "fix-illumination"
  std::string summary;
  std::string about;  ///< paragraphs; may be empty
  std::vector<OctArgument> arguments;
  std::vector<OctOption> options;
  std::string example;  ///< paths and options, as the command line takes them
};

/// All steps, in the order in which a reconstruction takes them.
PENSTOCK_API const std::vector<OctStep>& oct_steps();

/// A step, as it is called.
struct OctCall {
  std::string step;
  std::vector<std::string> paths;              ///< one for each argument
  std::map<std::string, std::string> options;  ///< by name; left out: the default
  Device device;                               ///< where operators run
  bool force = false;                          ///< an output that exists is replaced
};

/// What a step gave.
struct OctResult {
  std::string text;     ///< for people
  std::string metrics;  ///< JSON object: step_name, timestamp, overall_status, metrics, warnings, errors
  bool good = true;     ///< of `score`: every mark is reached
  std::vector<std::string> warnings = {};  ///< for people too: what was odd; the metrics have them as well
};

/// Runs one step.  Volumes are OME-NGFF 0.5 (axes z, y, x in millimetres, float32); in a mosaic grid the tiles lie side
/// by side and a chunk is one of them at full depth.  An output appears whole: its metadata come last.  Beside it
/// NAME_STEP_metrics.json is written.  Errors: invalid_argument (names, values, paths that do not fit), not_found,
/// invalid_metadata and corrupt_data (a file, named), already_exists (unless `force`), budget_too_small, no_device,
/// those of reading and writing, cancelled.  Memory: at most Options::budget_bytes, and a plane or a tile at least.
PENSTOCK_API Result<OctResult> run_oct(const OctCall& call, const Options& options);

}  // namespace penstock

// Runs a step by its name: reads the options, does the work, writes the metrics beside the output.
#pragma once
#include "oct/step.hpp"

namespace penstock::oct {

/// Of a step and what it did.
struct StepRun {
  StepDone done;
  std::string json;
};
Result<StepRun> run_step(const Step& step, const OctCall& call, const Options& options);

}  // namespace penstock::oct

// penstock oct STEP: a command for each step of the library's list.
#pragma once
#include <memory>

#include "cli/kit/command.hpp"
#include "penstock/oct.hpp"

namespace penstock::cli {

/// `step`: one of oct_steps(), which outlives the command.
std::unique_ptr<Command> make_oct(const OctStep& step);

}  // namespace penstock::cli

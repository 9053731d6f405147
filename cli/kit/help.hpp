// The pages that `penstock help` prints.
#pragma once
#include <string>

namespace penstock::cli {

/// The list of commands.
std::string overview();
/// docs/reference/commands.md: every command, and the exit codes.
std::string reference_page();

}  // namespace penstock::cli

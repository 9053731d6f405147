// The pages that `penstock help` prints.
#pragma once
#include <string>
#include <string_view>

namespace penstock::cli {

/// The list of commands.
std::string overview();
/// The commands of two words that begin with one ("oct": "oct mosaic", ...); empty: there are none.
std::string family_overview(std::string_view first);
/// docs/reference/commands.md: every command, and the exit codes.
std::string reference_page();

}  // namespace penstock::cli

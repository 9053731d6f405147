// Completion scripts for shells, made from what the commands declare.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/kit/usage.hpp"

namespace penstock::cli {

struct CompletionEntry {
  std::string name;
  std::string summary;
  Usage usage;
};

std::string bash_completion(const std::vector<CompletionEntry>& commands);
std::string zsh_completion(const std::vector<CompletionEntry>& commands);
std::string fish_completion(const std::vector<CompletionEntry>& commands);

}  // namespace penstock::cli

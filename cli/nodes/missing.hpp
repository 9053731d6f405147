// What to say of a store that is not there.
#pragma once
#include <span>
#include <string>

#include "penstock/error.hpp"

namespace penstock::cli {

/// The error for a path where there is no array and no group: no such file or directory (with the nearest name beside
/// it), a folder that is no store (with the stores in it), or a file.
Error nothing_at(const std::string& url);

/// "a, b, c"; of more than ten the first ten and the count: "a, b, ..., and 990 more".
std::string some_names(std::span<const std::string> names);

}  // namespace penstock::cli

// What was built.
#pragma once
#include <string_view>

namespace penstock::cli {

std::string_view version();  ///< "0.1.0"
std::string_view commit();   ///< commit that was configured, "unknown" outside a git checkout

}  // namespace penstock::cli

// The page that `penstock demo` leaves behind.
#pragma once
#include <string>
#include <vector>

#include "penstock/report.hpp"

namespace penstock::cli {

/// A self-contained HTML page: the picture (by name, beside the page) and a table for each part of the work.
std::string demo_page(const std::string& title, const std::string& source, const std::string& picture,
                      const std::vector<Report>& parts);

}  // namespace penstock::cli

// A report as a person reads it.
#pragma once
#include <cstddef>
#include <string>

#include "penstock/report.hpp"

namespace penstock::cli {

/// `report.text()`; where a line of it is longer than `width`, the reason of each stage stands below the stage.
std::string report_text(const Report& report, std::size_t width);

}  // namespace penstock::cli

// What penstock doctor says of uploads that are no objects yet.
#pragma once
#include "cli/look/places.hpp"

namespace penstock::cli {

/// Adds a line for each (the oldest ones, when they are many), and to the verdict what to do.  Removes nothing.
void add_uploads(const Store& bucket, Finding& finding);

}  // namespace penstock::cli

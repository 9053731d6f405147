// Elements of an array on their way to another, block by block in bounded memory.
#pragma once
#include <optional>
#include <string>

#include "penstock/array.hpp"
#include "penstock/copy_changes.hpp"

namespace penstock {

/// Copies `region` of `from` to `to`, which has its shape.  Resume::yes: blocks of which every object is there are
/// kept.  Report::written says what was written.  Errors: budget_too_small, those of reading and writing.
Result<Report> copy_elements(const Array& from, const Region& region, Array& to, Resume resume, const Options& options);
/// Reads all that copy_elements would, to find out that it can be read.
Status read_elements(const Array& from, const Region& region, const Dataset& to, const Options& options);
/// Where `to` has another element than `region` of `from`; nullopt: nowhere.
Result<std::optional<Shape>> differing_element(const Array& from, const Region& region, const Array& to,
                                               const Options& options);

}  // namespace penstock

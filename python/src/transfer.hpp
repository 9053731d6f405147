// Regions of arrays to and from Python's memory.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "penstock/array.hpp"

namespace penstock::python {

/// (start, count, step) of every dimension.
using Ranges = std::vector<std::tuple<std::uint64_t, std::uint64_t, std::int64_t>>;
Region to_region(const Ranges& ranges);

/// What a person would call the node, for OSError.filename.
std::string place(const Store& store, const std::string& path);
std::string place(const Array& array);

void bind_transfer(nanobind::module_& m);

}  // namespace penstock::python

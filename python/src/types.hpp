// Data types, datasets and reports.
#pragma once
#include <nanobind/nanobind.h>

#include "penstock/dataset.hpp"

namespace penstock::python {

namespace nb = nanobind;

void bind_types(nb::module_& m);

}  // namespace penstock::python

// Operators on elements in memory and on arrays in stores.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_ops(nanobind::module_& m);

}  // namespace penstock::python

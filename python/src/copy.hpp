// Copies, pyramids and labels.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_copy(nanobind::module_& m);

}  // namespace penstock::python

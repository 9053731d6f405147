// Reconstruction of serial OCT.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_oct(nanobind::module_& m);

}  // namespace penstock::python

// Rasters in Python.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_raster(nanobind::module_& m);

}  // namespace penstock::python

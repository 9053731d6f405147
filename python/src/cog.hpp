// Cloud Optimized GeoTIFFs from Python.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_cog(nanobind::module_& m);

}  // namespace penstock::python

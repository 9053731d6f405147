// Stores that are Python objects.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_zarr_store(nanobind::module_& m);

}  // namespace penstock::python

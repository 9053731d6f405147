// Batches of chunks as zarr-python's codec pipelines get them.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_zarr_batch(nanobind::module_& m);

}  // namespace penstock::python

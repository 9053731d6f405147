// Single objects of a store, for zarr-python's Store over it.
#pragma once
#include <nanobind/nanobind.h>

#include "store.hpp"

namespace penstock::python {

void bind_store_objects(nanobind::class_<PyStore>& store);

}  // namespace penstock::python

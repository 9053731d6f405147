// Memory of other libraries (in) and of devices (out), as DLPack.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "penstock/array.hpp"

namespace penstock::python {

namespace nb = nanobind;

void bind_tensor(nb::module_& m);

}  // namespace penstock::python

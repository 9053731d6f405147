// Arrays, groups and what is done with them.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_array(nanobind::module_& m);

}  // namespace penstock::python

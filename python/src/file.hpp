// Files and their requests.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_file(nanobind::module_& m);

}  // namespace penstock::python

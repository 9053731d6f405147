// Tractography.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_track(nanobind::module_& m);

}  // namespace penstock::python

// Batches of chunks through one codec: what penstock.codecs is made of.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_codecs(nanobind::module_& m);

}  // namespace penstock::python

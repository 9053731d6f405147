// Allocators of other libraries, for the library's results and working memory.
#pragma once
#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_foreign_memory(nanobind::module_& m);

}  // namespace penstock::python

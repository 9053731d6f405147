// The module penstock._core: a thin layer over libpenstock.  What people call is in python/penstock/*.py.
#include <nanobind/nanobind.h>

#include "array.hpp"
#include "codecs.hpp"
#include "cog.hpp"
#include "copy.hpp"
#include "errors.hpp"
#include "file.hpp"
#include "jobs.hpp"
#include "oct.hpp"
#include "ops.hpp"
#include "raster.hpp"
#include "tensor.hpp"
#include "track.hpp"
#include "transfer.hpp"
#include "types.hpp"
#include "zarr_batch.hpp"
#include "zarr_store.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  m.doc() = "Bindings of libpenstock; use the package penstock.";
  nb::set_leak_warnings(false);  // a program that ends while it holds arrays has done nothing wrong
  m.def("version", [] { return PENSTOCK_VERSION; });
  penstock::python::bind_errors(m);
  penstock::python::bind_types(m);
  penstock::python::bind_jobs(m);
  penstock::python::bind_tensor(m);
  penstock::python::bind_file(m);
  penstock::python::bind_array(m);
  penstock::python::bind_raster(m);
  penstock::python::bind_cog(m);
  penstock::python::bind_copy(m);
  penstock::python::bind_transfer(m);
  penstock::python::bind_ops(m);
  penstock::python::bind_track(m);
  penstock::python::bind_oct(m);
  penstock::python::bind_codecs(m);
  penstock::python::bind_zarr_store(m);
  penstock::python::bind_zarr_batch(m);
}

// Variable-length elements: NumPy object arrays on one side, VlenRef on the other.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "penstock/array.hpp"

namespace penstock::python {

namespace nb = nanobind;

/// Where the PyObject* of a NumPy object array lie.
struct ObjectMemory {
  std::uintptr_t address = 0;
  Shape shape;
  Strides strides;  ///< bytes, one per dimension
};

/// Makes str (or bytes) of `refs`, C order, and puts them into the array; old elements are released.  Needs the GIL.
void store_objects(const std::vector<VlenRef>& refs, Kind kind, const ObjectMemory& to);

/// Elements of an object array as VlenRef, C order; `keep` holds the str and bytes objects that they point into.
/// Raises TypeError naming the index of an element of another type.  Needs the GIL.
std::vector<VlenRef> load_objects(const ObjectMemory& from, Kind kind, std::vector<nb::object>& keep);

}  // namespace penstock::python

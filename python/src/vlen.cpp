#include "vlen.hpp"

#include <string>

#include "errors.hpp"

namespace penstock::python {
namespace {

/// Calls visit(slot, index) for every element in C order; slot is where the PyObject* lies.
template <class Visit>
void for_each_slot(const ObjectMemory& m, Visit&& visit) {
  const std::size_t rank = m.shape.size();
  for (const auto extent : m.shape)
    if (extent == 0) return;
  Shape index(rank, 0);
  auto address = static_cast<std::int64_t>(m.address);
  while (true) {
    visit(reinterpret_cast<PyObject**>(address), index);
    std::size_t d = rank;
    while (d-- > 0) {
      address += m.strides[d];
      if (++index[d] < m.shape[d]) break;
      address -= m.strides[d] * static_cast<std::int64_t>(m.shape[d]);
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

nb::object to_object(const VlenRef& ref, Kind kind) {
  const auto* data = ref.data ? reinterpret_cast<const char*>(ref.data) : "";
  const auto size = static_cast<Py_ssize_t>(ref.size);
  PyObject* made =
      kind == Kind::vlen_utf8 ? PyUnicode_DecodeUTF8(data, size, "strict") : PyBytes_FromStringAndSize(data, size);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

VlenRef to_ref(PyObject* object, Kind kind, const Shape& index) {
  Py_ssize_t size = 0;
  const char* data = nullptr;
  if (kind == Kind::vlen_utf8 && object && PyUnicode_Check(object)) {
    data = PyUnicode_AsUTF8AndSize(object, &size);  // raises on lone surrogates
    if (!data) throw nb::python_error();
  } else if (kind == Kind::vlen_bytes && object && PyBytes_Check(object)) {
    char* bytes = nullptr;
    if (PyBytes_AsStringAndSize(object, &bytes, &size) != 0) throw nb::python_error();
    data = bytes;
  } else {
    const char* wanted = kind == Kind::vlen_utf8 ? "str" : "bytes";
    const std::string at = to_string(index);
    PyErr_Format(PyExc_TypeError, "element %s is %R, not %s", at.c_str(), object ? object : Py_None, wanted);
    throw nb::python_error();
  }
  return {reinterpret_cast<const std::byte*>(data), static_cast<std::uint64_t>(size)};
}

}  // namespace

void store_objects(const std::vector<VlenRef>& refs, Kind kind, const ObjectMemory& to) {
  std::size_t next = 0;
  for_each_slot(to, [&](PyObject** slot, const Shape&) {
    PyObject* old = *slot;
    *slot = to_object(refs[next++], kind).release().ptr();
    Py_XDECREF(old);
  });
}

std::vector<VlenRef> load_objects(const ObjectMemory& from, Kind kind, std::vector<nb::object>& keep) {
  std::vector<VlenRef> refs;
  for_each_slot(from, [&](PyObject** slot, const Shape& index) {
    refs.push_back(to_ref(*slot, kind, index));
    keep.push_back(nb::borrow(*slot));
  });
  return refs;
}

}  // namespace penstock::python

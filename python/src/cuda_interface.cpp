// https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, versions 2 and 3.
#include "cuda_interface.hpp"

#include <charconv>
#include <string_view>

#include "core/checked.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

/// A name that is looked up often, made once; never freed.
PyObject* name_of(const char* text) {
  PyObject* const name = PyUnicode_InternFromString(text);
  if (name == nullptr) throw nb::python_error();
  return name;
}

struct Names {
  PyObject* interface = name_of("__cuda_array_interface__");
  PyObject* shape = name_of("shape");
  PyObject* typestr = name_of("typestr");
  PyObject* data = name_of("data");
  PyObject* strides = name_of("strides");
  PyObject* stream = name_of("stream");
};

/// A new reference, or none; an error is forgotten.
nb::object attribute(nb::handle object, PyObject* name) {
  PyObject* const found = PyObject_GetAttr(object.ptr(), name);
  if (found == nullptr) PyErr_Clear();
  return nb::steal(found);
}

std::optional<std::uint64_t> number_of(PyObject* object) {
  if (object == nullptr || !PyLong_Check(object)) return std::nullopt;
  const std::uint64_t number = PyLong_AsUnsignedLongLong(object);
  if (number == UINT64_MAX && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return number;
}

/// Bytes of an element: "<f4", "|u1".
std::optional<std::uint64_t> item_bytes_of(PyObject* typestr) {
  Py_ssize_t length = 0;
  const char* const text =
      typestr != nullptr && PyUnicode_Check(typestr) ? PyUnicode_AsUTF8AndSize(typestr, &length) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::string_view type(text, static_cast<std::size_t>(length));
  if (type.size() < 3 || std::string_view("biufc").find(type[1]) == std::string_view::npos) return std::nullopt;
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(type.data() + 2, type.data() + type.size(), bytes);
  if (error != std::errc() || end != type.data() + type.size()) return std::nullopt;
  return bytes;
}

/// Bytes of all elements.
std::optional<std::uint64_t> bytes_of(PyObject* shape, PyObject* typestr) {
  std::optional<std::uint64_t> bytes = item_bytes_of(typestr);
  if (!bytes || shape == nullptr || !PyTuple_Check(shape)) return std::nullopt;
  for (Py_ssize_t i = 0; i < PyTuple_Size(shape); ++i) {
    const auto extent = number_of(PyTuple_GetItem(shape, i));
    if (!extent) return std::nullopt;
    const auto product = checked_mul(*bytes, *extent);
    if (!product) return std::nullopt;
    bytes = *product;
  }
  return bytes;
}

}  // namespace

std::optional<CudaInterface> cuda_interface_of(nb::handle object, bool writable) {
  static const Names names;
  const nb::object interface = attribute(object, names.interface);
  if (!interface || !PyDict_Check(interface.ptr())) return std::nullopt;
  const auto entry = [&](PyObject* name) { return PyDict_GetItem(interface.ptr(), name); };
  PyObject* const strides = entry(names.strides);
  PyObject* const data = entry(names.data);
  if ((strides != nullptr && strides != Py_None) || data == nullptr || !PyTuple_Check(data) || PyTuple_Size(data) != 2)
    return std::nullopt;
  const auto address = number_of(PyTuple_GetItem(data, 0));
  if (!address || *address == 0) return std::nullopt;
  if (writable && PyTuple_GetItem(data, 1) != Py_False) return std::nullopt;
  const auto bytes = bytes_of(entry(names.shape), entry(names.typestr));
  if (!bytes) return std::nullopt;
  PyObject* const named = entry(names.stream);
  std::uint64_t stream = 0;
  if (named != nullptr && named != Py_None) {
    const auto handle = number_of(named);
    if (!handle) return std::nullopt;
    stream = *handle == 1 ? 0 : *handle;  // the legacy default stream
  }
  return CudaInterface{reinterpret_cast<std::byte*>(*address), *bytes, reinterpret_cast<void*>(stream)};
}

}  // namespace penstock::python

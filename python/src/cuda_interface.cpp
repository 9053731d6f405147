// https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, versions 2 and 3.
#include "cuda_interface.hpp"

#include <charconv>
#include <string_view>

#include "core/checked.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

/// A new reference, or none; an error is forgotten.
nb::object attribute(nb::handle object, const char* name) {
  PyObject* const found = PyObject_GetAttrString(object.ptr(), name);
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
  const nb::object interface = attribute(object, "__cuda_array_interface__");
  if (!interface || !PyDict_Check(interface.ptr())) return std::nullopt;
  const auto entry = [&](const char* name) { return PyDict_GetItemString(interface.ptr(), name); };
  PyObject* const strides = entry("strides");
  PyObject* const data = entry("data");
  if ((strides != nullptr && strides != Py_None) || data == nullptr || !PyTuple_Check(data) || PyTuple_Size(data) != 2)
    return std::nullopt;
  const auto address = number_of(PyTuple_GetItem(data, 0));
  if (!address || *address == 0) return std::nullopt;
  if (writable && PyTuple_GetItem(data, 1) != Py_False) return std::nullopt;
  const auto bytes = bytes_of(entry("shape"), entry("typestr"));
  if (!bytes) return std::nullopt;
  PyObject* const named = entry("stream");
  std::uint64_t stream = 0;
  if (named != nullptr && named != Py_None) {
    const auto handle = number_of(named);
    if (!handle) return std::nullopt;
    stream = *handle == 1 ? 0 : *handle;  // the legacy default stream
  }
  return CudaInterface{reinterpret_cast<std::byte*>(*address), *bytes, reinterpret_cast<void*>(stream)};
}

}  // namespace penstock::python

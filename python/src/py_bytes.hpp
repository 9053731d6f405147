// Bytes of a Python object.
#pragma once
#include <nanobind/nanobind.h>

#include "penstock/bytes.hpp"

namespace penstock::python {

/// The bytes of a Python object, kept alive.
class PyBytes {
 public:
  /// Needs the GIL.  Raises what the object raises.
  explicit PyBytes(const nanobind::object& owner) {
    if (PyObject_GetBuffer(owner.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
  }
  PyBytes(const PyBytes&) = delete;
  PyBytes& operator=(const PyBytes&) = delete;
  ~PyBytes() {
    const nanobind::gil_scoped_acquire gil;
    PyBuffer_Release(&buffer_);
  }
  [[nodiscard]] ByteView view() const {
    return {static_cast<const std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

}  // namespace penstock::python

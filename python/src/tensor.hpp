// Elements in memory: shared with other libraries both ways.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

#include "penstock/tensor.hpp"

namespace penstock::python {

namespace nb = nanobind;

/// Memory that an object shows by Python's buffer protocol.
struct BufferView {
  void* data = nullptr;
  std::uint64_t bytes = 0;
};
/// Of a contiguous, writable buffer; nullopt when the object does not show it (NumPy's times, for instance).
std::optional<BufferView> buffer_of(nb::handle object);

void bind_tensor(nb::module_& m);

}  // namespace penstock::python

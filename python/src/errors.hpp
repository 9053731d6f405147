// Errors of the library as Python exceptions.
#pragma once
#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "penstock/error.hpp"

namespace penstock::python {

namespace nb = nanobind;

/// Raises the exception that error_codes.def names for the code.  `filename` goes into OSError.filename; the hint
/// becomes a note of the exception.  Needs the GIL.
[[noreturn]] void raise(const Error& error, const std::string& filename = {});

/// The value, or raises.  Needs the GIL.
template <class T>
T unwrap(Result<T> result, const std::string& filename = {}) {
  if (!result) raise(result.error(), filename);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void bind_errors(nb::module_& m);

}  // namespace penstock::python

// Memory as __cuda_array_interface__ shows it.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::python {

struct CudaInterface {
  std::byte* data;
  std::uint64_t bytes;
  void* stream;  ///< a cudaStream_t whose present work makes the memory ready
};

/// nullopt: the object does not have it, has no elements, is not C-contiguous, read-only where it must not be, or of a
/// data type of other kinds than numbers.
std::optional<CudaInterface> cuda_interface_of(nanobind::handle object, bool writable);

}  // namespace penstock::python

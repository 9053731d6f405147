// Python objects that requests hold, whose threads do not have the GIL.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace penstock::python {

namespace nb = nanobind;

/// Holds an object; may be let go by any thread.  The object is released later, by a thread that has the GIL: in the
/// next call of release_held, or when Python's main thread is next between two steps of a program.  To take the GIL, or
/// to stop the main thread, for each of thousands of requests would cost more than the requests: while others are held,
/// those that are let go within a millisecond wait for each other.
std::shared_ptr<const void> held(nb::object object);

/// Memory as the buffer protocol shows it: the exporter can neither move nor free it before it is let go.  May be let
/// go by any thread, as `held`.
struct HeldBuffer {
  std::byte* data;
  std::uint64_t bytes;
  std::shared_ptr<const void> keep;
};
/// `flags` as of PyObject_GetBuffer.
HeldBuffer held_buffer(nb::handle object, int flags);
/// The same; nullopt: it does not show its memory so, or that holds Python objects.
std::optional<HeldBuffer> held_bytes(nb::handle object, int flags);

/// Releases what was let go.  Needs the GIL.
void release_held();

}  // namespace penstock::python

#include "tensor.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "foreign_memory.hpp"
#include "jobs.hpp"
#include "penstock/device_memory.hpp"

namespace penstock::python {
namespace {

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kPlain = "dltensor";

/// Holds a Python object; may be let go by any thread.
std::shared_ptr<const void> hold(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            if (!Py_IsInitialized()) return;  // at the end of the process, together with all there is
            nb::gil_scoped_acquire gil;
            delete held;
          }};
}

/// The capsule's tensor; the name tells the producer that it was taken.
template <class Managed>
Tensor take(nb::handle capsule, const char* name, const char* used, const Stream& stream) {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  Tensor tensor = unwrap(Tensor::from_dlpack(managed, stream));
  if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
  return tensor;
}

Tensor from_capsule(nb::handle capsule, const std::optional<Stream>& stream) {
  const Stream order = stream.value_or(Stream());
  if (PyCapsule_IsValid(capsule.ptr(), kVersioned))
    return take<DLManagedTensorVersioned>(capsule, kVersioned, "used_dltensor_versioned", order);
  if (PyCapsule_IsValid(capsule.ptr(), kPlain)) return take<DLManagedTensor>(capsule, kPlain, "used_dltensor", order);
  raise(Error(ErrorCode::invalid_argument, "DLPack: __dlpack__ gave no tensor that is not taken yet"));
}

template <class Managed>
nb::object make_capsule(Managed* managed, const char* name, PyCapsule_Destructor destructor) {
  PyObject* const capsule = PyCapsule_New(managed, name, destructor);
  if (capsule == nullptr) {
    give_back(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

/// A capsule that nobody took gives its tensor back.
nb::object to_capsule(const Tensor& tensor, bool versioned) {
  if (versioned)
    return make_capsule(unwrap(tensor.to_dlpack()), kVersioned, [](PyObject* c) {
      if (PyCapsule_IsValid(c, kVersioned))
        give_back(static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(c, kVersioned)));
    });
  return make_capsule(unwrap(tensor.to_dlpack_unversioned()), kPlain, [](PyObject* c) {
    if (PyCapsule_IsValid(c, kPlain)) give_back(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(c, kPlain)));
  });
}

/// The process's stream of a device that does nothing but free memory.
Result<Stream> freeing_stream(Device device) {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: at exit the driver may already be gone
  static auto& streams = *new std::map<int, Stream>;
  std::lock_guard lock(mutex);
  if (const auto known = streams.find(device.index); known != streams.end()) return known->second;
  PENSTOCK_ASSIGN(Stream made, Stream::create(device));
  return streams.emplace(device.index, std::move(made)).first->second;
}

/// Device memory that a read made, and what keeps the caller's stream, which must outlive it.
struct DeviceMemory {
  std::shared_ptr<const void> keep;
  Buffer buffer;

  DeviceMemory(std::shared_ptr<const void> owner, Buffer made) : keep(std::move(owner)), buffer(std::move(made)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  /// Others used the memory too: who says nothing else, on the default stream.  It is freed after what is there now, on
  /// a stream of its own, so that a next read need not wait for their work.
  ~DeviceMemory() {
    if (buffer.data() != nullptr) (void)free_later();
  }
  Status free_later() {
    const Device device = buffer.stream().device();
    PENSTOCK_ASSIGN(const Stream later, freeing_stream(device));
    PENSTOCK_ASSIGN(const Stream theirs, Stream::wrap(device, nullptr));
    for (const Stream& stream : {theirs, buffer.stream()}) {
      PENSTOCK_ASSIGN(const Event mark, Event::record(stream));
      PENSTOCK_TRY(mark.wait_on(later));
    }
    buffer.free_on(later);
    return {};
  }
};

constexpr std::size_t kAlign = 256;

/// New memory on the stream's device, from `memory` or the library's own pool.
Result<Tensor> allocate(const DType& dtype, const Shape& shape, const Stream& stream, nb::object keep,
                        std::shared_ptr<Memory> memory) {
  if (stream.device().type == Device::Type::cpu) return Tensor::empty(dtype, shape, stream, memory);
  if (!memory) {
    PENSTOCK_ASSIGN(memory, result_memory(stream.device()));
  }
  PENSTOCK_ASSIGN(TensorView view, TensorView::packed(nullptr, dtype, shape, stream));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, view.bytes());
  PENSTOCK_ASSIGN(Buffer buffer, memory->allocate(std::max<std::uint64_t>(bytes, 1), kAlign, stream));
  view.data = buffer.data();
  return Tensor::share(std::make_shared<DeviceMemory>(hold(std::move(keep)), std::move(buffer)), std::move(view));
}

/// Memory as an address: of NumPy, of __cuda_array_interface__.
Tensor from_address(std::uintptr_t address, const DType& dtype, Shape shape, Strides strides_bytes, nb::object keep,
                    const std::optional<Stream>& stream, bool read_only) {
  TensorView view;
  view.data = reinterpret_cast<void*>(address);
  view.dtype = dtype;
  view.shape = std::move(shape);
  view.strides_bytes = std::move(strides_bytes);
  view.stream = stream.value_or(Stream());
  view.device = view.stream.device();
  view.access = read_only ? Access::read_only : Access::read_write;
  unwrap(view.check());
  return Tensor::share(hold(std::move(keep)), std::move(view));
}

Index index_of(nb::handle item) {
  std::int64_t at = 0;
  if (nb::try_cast(item, at)) return at;
  const auto part = [&](const char* name) -> std::optional<std::int64_t> {
    const nb::object value = item.attr(name);
    return value.is_none() ? std::nullopt : std::optional(nb::cast<std::int64_t>(value));
  };
  return Slice{part("start"), part("stop"), part("step")};
}

Tensor sliced(const Tensor& tensor, const nb::list& indices) {
  std::vector<Index> made;
  for (const nb::handle item : indices) made.push_back(index_of(item));
  return unwrap(tensor.slice(made));
}

nb::tuple tuple_of(const auto& numbers) {
  nb::list out;
  for (const auto number : numbers) out.append(number);
  return nb::tuple(out);
}

Device cuda(int index) { return {Device::Type::cuda, index}; }

void bind_tensors(nb::module_& m) {
  nb::class_<Tensor>(m, "Tensor", "Elements in memory, with what keeps the memory alive.")
      .def_static("from_capsule", &from_capsule, nb::arg("capsule"), nb::arg("stream") = nb::none(),
                  nb::sig("def from_capsule(capsule: object, stream: Stream | None = None) -> Tensor"),
                  "Takes a DLPack capsule over; `stream`: on which a device's elements are ready.")
      .def_static("from_address", &from_address, nb::arg("address"), nb::arg("dtype"), nb::arg("shape"),
                  nb::arg("strides_bytes"), nb::arg("keep").none(), nb::arg("stream") = nb::none(),
                  nb::arg("read_only") = false)
      .def_static(
          "allocate",
          [](const DType& dtype, const Shape& shape, const Stream& stream, nb::object keep,
             std::shared_ptr<Memory> memory) {
            return unwrap(allocate(dtype, shape, stream, std::move(keep), std::move(memory)));
          },
          nb::arg("dtype"), nb::arg("shape"), nb::arg("stream"), nb::arg("keep").none() = nb::none(),
          nb::arg("memory").none() = nb::none(), "`keep`: owner of the stream, alive as long as the memory.")
      .def_prop_ro("address", [](const Tensor& t) { return reinterpret_cast<std::uintptr_t>(t.view().data); })
      .def_prop_ro("dtype", [](const Tensor& t) { return t.view().dtype; })
      .def_prop_ro(
          "shape", [](const Tensor& t) { return tuple_of(t.view().shape); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "strides_bytes", [](const Tensor& t) { return tuple_of(t.view().strides_bytes); },
          nb::sig("def strides_bytes(self) -> tuple[int, ...]"))
      .def_prop_ro("device", [](const Tensor& t) { return t.view().device.name(); })
      .def_prop_ro("read_only", [](const Tensor& t) { return t.view().access == Access::read_only; })
      .def_prop_ro("contiguous", [](const Tensor& t) { return t.view().is_contiguous(); })
      .def("slice", &sliced, nb::arg("indices"), nb::sig("def slice(self, indices: list[int | slice]) -> Tensor"))
      .def("to_capsule", &to_capsule, nb::arg("versioned"), nb::sig("def to_capsule(self, versioned: bool) -> object"));
  m.def(
      "copy_elements",
      [](const Tensor& from, const Tensor& to) {
        unwrap(without_gil(CallGuard::Threads::none, [&] { return copy_elements(from.view(), to.view()); }));
      },
      nb::arg("source"), nb::arg("to"));
}

void bind_stream(nb::module_& m) {
  nb::class_<Stream>(m, "Stream", "A queue of work on a CUDA device; Stream() is the host's own order.")
      .def(nb::init<>())
      .def_static(
          "create", [](int index) { return unwrap(Stream::create(cuda(index))); }, nb::arg("index"))
      .def_static(
          "wrap",
          [](int index, std::uintptr_t handle) {
            return unwrap(Stream::wrap(cuda(index), reinterpret_cast<void*>(handle)));
          },
          nb::arg("index"), nb::arg("handle"), "The caller's cudaStream_t; not owned.")
      .def_prop_ro("handle", [](const Stream& s) { return reinterpret_cast<std::uintptr_t>(s.native()); })
      .def_prop_ro("index", [](const Stream& s) { return s.device().index; })
      .def("synchronize",
           [](const Stream& s) {
             Status status;
             {
               nb::gil_scoped_release release;
               status = s.synchronize();
             }
             unwrap(std::move(status));
           })
      .def(
          "wait_for",
          [](const Stream& self, const Stream& other) {
            auto event = unwrap(Event::record(other));
            unwrap(event.wait_on(self));
          },
          nb::arg("other"), "Later work of this stream waits for what is in `other` now; the caller does not wait.");
}

void bind_memory(nb::module_& m) {
  m.def(
      "buffer_address",
      [](nb::handle object) -> std::optional<std::uintptr_t> {
        const std::optional<BufferView> buffer = buffer_of(object);
        if (!buffer) return std::nullopt;
        return reinterpret_cast<std::uintptr_t>(buffer->data);
      },
      nb::arg("buffer"),
      "Address of a contiguous, writable buffer; None when the object does not show it.  The caller keeps it alive.");
  m.def(
      "copy_to_host",
      [](std::uintptr_t to, std::uintptr_t from, std::uint64_t bytes, const Stream& stream) {
        Status status;
        {
          nb::gil_scoped_release release;
          status = copy_async(reinterpret_cast<void*>(to), Device{}, reinterpret_cast<const void*>(from),
                              stream.device(), bytes, stream);
          if (status) status = stream.synchronize();
        }
        unwrap(std::move(status));
      },
      nb::arg("to"), nb::arg("source"), nb::arg("bytes"), nb::arg("stream"));
}

}  // namespace

std::optional<BufferView> buffer_of(nb::handle object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const BufferView found{view.buf, static_cast<std::uint64_t>(view.len)};
  PyBuffer_Release(&view);
  return found;
}

void bind_tensor(nb::module_& m) {
  bind_stream(m);
  bind_foreign_memory(m);
  bind_tensors(m);
  bind_memory(m);
  nb::class_<DeviceInfo>(m, "DeviceInfo", "What a device is.")
      .def_prop_ro("name", [](const DeviceInfo& d) { return d.device.name(); })
      .def_ro("description", &DeviceInfo::description)
      .def_ro("memory_bytes", &DeviceInfo::memory_bytes)
      .def_ro("free_bytes", &DeviceInfo::free_bytes)
      .def_ro("driver_version", &DeviceInfo::driver_version)
      .def_ro("compute_capability", &DeviceInfo::compute_capability)
      .def("__repr__", [](const DeviceInfo& d) { return "<" + d.device.name() + ": " + d.description + ">"; });
  m.def("devices", &devices, "All devices that can be used now, the CPU last.");
  m.def("cuda_unavailable_reason", &cuda_unavailable_reason, "Why there is no CUDA device; empty when there is one.");
  m.def(
      "device_of",
      [](std::uintptr_t address) { return unwrap(cuda_device_of(reinterpret_cast<const void*>(address))).index; },
      nb::arg("address"), "CUDA device whose memory it is.");
  m.def(
      "parse_device",
      [](const std::string& text) {
        const Device d = unwrap(Device::parse(text));
        return std::tuple<bool, int>(d.type == Device::Type::cuda, d.index);
      },
      nb::arg("text"), "(is CUDA, index) of 'cpu', 'cuda', 'cuda:1' or 'auto'.");
}

}  // namespace penstock::python

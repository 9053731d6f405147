#include "tensor.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device/backend.hpp"
#include "errors.hpp"

namespace penstock::python {
namespace {

/// A tensor taken from a DLPack capsule; holds it alive.
struct ForeignTensor {
  nb::ndarray<nb::ro> tensor;

  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(tensor.data()); }
  [[nodiscard]] nb::tuple shape() const {
    nb::list out;
    for (std::size_t i = 0; i < tensor.ndim(); ++i) out.append(tensor.shape(i));
    return nb::tuple(out);
  }
  [[nodiscard]] nb::tuple strides_bytes() const {
    nb::list out;
    const auto item = static_cast<std::int64_t>(tensor.itemsize());
    for (std::size_t i = 0; i < tensor.ndim(); ++i) out.append(tensor.stride(i) * item);
    return nb::tuple(out);
  }
  [[nodiscard]] std::tuple<int, int, int> dtype() const {
    const auto d = tensor.dtype();
    return {d.code, d.bits, d.lanes};
  }
  [[nodiscard]] std::tuple<int, int> device() const { return {tensor.device_type(), tensor.device_id()}; }
};

/// The process's stream of a device that does nothing but free memory.
Result<Stream> freeing_stream(Device device) {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: at exit the driver may already be gone
  static auto& streams = *new std::map<int, Stream>;
  std::lock_guard lock(mutex);
  if (const auto known = streams.find(device.index); known != streams.end()) return known->second;
  PENSTOCK_ASSIGN(Stream made, Stream::create(device));
  return streams.emplace(device.index, std::move(made)).first->second;
}

/// Device memory that a read made.
struct DeviceMemory {
  nb::object keep;  ///< owner of the caller's stream, which must outlive the buffer
  Buffer buffer;
  Device device;

  DeviceMemory(nb::object owner, Buffer made, Device where)
      : keep(std::move(owner)), buffer(std::move(made)), device(where) {}
  DeviceMemory(DeviceMemory&&) = default;
  /// Others used the memory too: who says nothing else, on the default stream.  It is freed after what is there now, on
  /// a stream of its own, so that a next read need not wait for their work.
  ~DeviceMemory() {
    if (buffer.data() != nullptr) (void)free_later();
  }
  Status free_later() {
    PENSTOCK_ASSIGN(const Stream later, freeing_stream(device));
    PENSTOCK_ASSIGN(const Stream theirs, Stream::wrap(device, nullptr));
    for (const Stream& stream : {theirs, buffer.stream()}) {
      PENSTOCK_ASSIGN(const Event mark, Event::record(stream));
      PENSTOCK_TRY(mark.wait_on(later));
    }
    buffer.free_on(later);
    return {};
  }

  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(buffer.data()); }
};

/// The library's own pool of a device, made at first use and kept: no cap, the driver's limit is the limit.
Result<std::shared_ptr<Memory>> pool(Device device) {
  static std::mutex& mutex = *new std::mutex;
  static auto& pools = *new std::map<int, std::shared_ptr<Memory>>;
  std::lock_guard lock(mutex);
  auto& memory = pools[device.index];
  if (!memory) {
    PENSTOCK_ASSIGN(memory, Memory::create(device, 0));
  }
  return memory;
}

Device cuda(int index) { return {Device::Type::cuda, index}; }

void bind_foreign(nb::module_& m) {
  nb::class_<ForeignTensor>(m, "ForeignTensor", "Memory of another library, from a DLPack capsule.")
      .def_prop_ro("address", &ForeignTensor::address)
      .def_prop_ro("shape", &ForeignTensor::shape, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("strides_bytes", &ForeignTensor::strides_bytes,
                   nb::sig("def strides_bytes(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype", &ForeignTensor::dtype, "DLPack's (code, bits, lanes).")
      .def_prop_ro("device", &ForeignTensor::device, "DLPack's (device type, device id).");
  m.def(
      "import_writable", [](nb::ndarray<> t) { return ForeignTensor{nb::ndarray<nb::ro>(t)}; }, nb::arg("capsule"),
      "Takes a DLPack capsule over; refuses read-only memory.",
      nb::sig("def import_writable(capsule: object) -> ForeignTensor"));
  m.def(
      "import_readable", [](nb::ndarray<nb::ro> t) { return ForeignTensor{std::move(t)}; }, nb::arg("capsule"),
      nb::sig("def import_readable(capsule: object) -> ForeignTensor"));
}

void bind_stream(nb::module_& m) {
  nb::class_<Stream>(m, "Stream", "A queue of work on a CUDA device.")
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
  nb::class_<DeviceMemory>(m, "DeviceMemory", "Owned memory of a CUDA device, freed in the order of its stream.")
      .def_static(
          "allocate",
          [](int index, std::uint64_t bytes, const Stream& stream, nb::object keep) {
            auto memory = unwrap(pool(cuda(index)));
            return DeviceMemory(std::move(keep), unwrap(memory->allocate(bytes, 256, stream)), cuda(index));
          },
          nb::arg("index"), nb::arg("bytes"), nb::arg("stream"), nb::arg("keep").none(),
          "`keep`: owner of the stream, alive as long as the memory.")
      .def_prop_ro("address", &DeviceMemory::address)
      .def_prop_ro("size", [](const DeviceMemory& d) { return d.buffer.size(); });
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
  m.def(
      "export_tensor",
      [](nb::object owner, std::uintptr_t address, const std::vector<std::size_t>& shape, std::tuple<int, int> dtype,
         int index) {
        const nb::dlpack::dtype d{static_cast<std::uint8_t>(std::get<0>(dtype)),
                                  static_cast<std::uint8_t>(std::get<1>(dtype)), 1};
        return nb::ndarray<nb::array_api>(reinterpret_cast<void*>(address), shape.size(), shape.data(), owner, nullptr,
                                          d, nb::device::cuda::value, index);
      },
      nb::arg("owner"), nb::arg("address"), nb::arg("shape"), nb::arg("dtype"), nb::arg("index"),
      nb::sig("def export_tensor(owner: object, address: int, shape: list[int], dtype: tuple[int, int], index: int) -> "
              "object"),
      "CUDA memory as an object with __dlpack__; it keeps `owner` alive.");
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
  bind_foreign(m);
  bind_stream(m);
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
      [](std::uintptr_t address) {
        Backend* backend = find_backend(Device::Type::cuda);
        if (backend == nullptr) raise(Error(ErrorCode::no_device, cuda_unavailable_reason()));
        return unwrap(backend->index_of(reinterpret_cast<const void*>(address)));
      },
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

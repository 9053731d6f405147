#include "file.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrivals.hpp"
#include "cuda_interface.hpp"
#include "errors.hpp"
#include "held.hpp"
#include "jobs.hpp"
#include "penstock/device_memory.hpp"
#include "penstock/io.hpp"

namespace penstock::python {

namespace nb = nanobind;

namespace {

/// The part of a memory of `all` bytes that a request is for.
std::uint64_t part_of(std::uint64_t all, std::optional<std::uint64_t> bytes, std::uint64_t begin) {
  if (begin > all || (bytes && *bytes > all - begin)) {
    const std::string wanted = bytes ? std::to_string(*bytes) + " bytes" : std::string("the bytes");
    throw nb::value_error(
        (wanted + " from byte " + std::to_string(begin) + " are more than the buffer's " + std::to_string(all))
            .c_str());
  }
  return bytes ? *bytes : all - begin;
}

/// A request so small that to begin it takes less time than to give up the GIL and take it back.
constexpr std::uint64_t kQuickBytes = std::uint64_t{256} << 10;

struct PyFile {
  File file;

  [[nodiscard]] IoFuture start(bool reading, void* memory, std::uint64_t bytes, std::uint64_t offset, IoOptions options,
                               bool in_stream = false) const {
    release_held();
    auto begin = [&, kept = std::move(options)]() mutable {
      const IoOptions given = std::move(kept);
      if (in_stream && reading) return file.enqueue_read(memory, bytes, offset, *given.stream, given);
      if (in_stream) return file.enqueue_write(memory, bytes, offset, *given.stream, given);
      return reading ? file.start_read(memory, bytes, offset, given) : file.start_write(memory, bytes, offset, given);
    };
    if (in_stream || bytes > kQuickBytes) return without_gil(CallGuard::Threads::starts, begin);
    const CallGuard guard(CallGuard::Threads::starts);
    return begin();
  }
};

IoOptions options_of(std::uint64_t threads, std::uint64_t piece_bytes, const Stream& stream,
                     std::shared_ptr<const void> keep) {
  return {threads, piece_bytes, stream, std::move(keep), CancelToken::never()};
}

IoFuture start_host(const PyFile& self, bool reading, nb::handle buffer, std::optional<std::uint64_t> bytes,
                    std::uint64_t offset, std::uint64_t begin, std::uint64_t threads, std::uint64_t piece_bytes) {
  const int flags = PyBUF_ANY_CONTIGUOUS | (reading ? PyBUF_WRITABLE : 0);
  HeldBuffer memory = held_buffer(buffer, flags);
  const std::uint64_t wanted = part_of(memory.bytes, bytes, begin);
  return self.start(reading, memory.data + begin, wanted, offset,
                    options_of(threads, piece_bytes, Stream(), std::move(memory.keep)));
}

IoFuture start_device(const PyFile& self, bool reading, std::uintptr_t address, std::uint64_t all,
                      std::optional<std::uint64_t> bytes, std::uint64_t offset, std::uint64_t begin,
                      std::uint64_t threads, std::uint64_t piece_bytes, const Stream& stream, nb::object keep,
                      bool in_stream) {
  const std::uint64_t wanted = part_of(all, bytes, begin);
  return self.start(reading, reinterpret_cast<std::byte*>(address) + begin, wanted, offset,
                    options_of(threads, piece_bytes, stream, held(std::move(keep))), in_stream);
}

/// An int that is not negative.
std::optional<std::uint64_t> plain_number(nb::handle given) {
  if (!PyLong_CheckExact(given.ptr())) return std::nullopt;
  const long long number = PyLong_AsLongLong(given.ptr());
  if (number >= 0) return static_cast<std::uint64_t>(number);
  PyErr_Clear();  // of one that is too large
  return std::nullopt;
}

/// What is read into or written from, where it shows itself as most does.
struct PlainMemory {
  std::byte* data;
  std::uint64_t bytes;
  Stream stream;
  std::shared_ptr<const void> keep;
};

std::optional<PlainMemory> plain_host(nb::handle buffer, bool writable) {
  if (PyObject_CheckBuffer(buffer.ptr()) == 0) return std::nullopt;
  std::optional<HeldBuffer> host = held_bytes(buffer, PyBUF_ANY_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0));
  if (!host) return std::nullopt;
  return PlainMemory{host->data, host->bytes, Stream(), std::move(host->keep)};
}

std::optional<PlainMemory> plain_cuda(nb::handle buffer, bool writable) {
  const std::optional<CudaInterface> memory = cuda_interface_of(buffer, writable);
  if (!memory) return std::nullopt;
  // Where there is one device the driver need not be asked: its answer may take longer than all else here.
  static const bool is_one =
      std::ranges::count(devices(), Device::Type::cuda, [](const DeviceInfo& info) { return info.device.type; }) == 1;
  const Device device = is_one ? Device{Device::Type::cuda, 0} : unwrap(cuda_device_of(memory->data));
  return PlainMemory{memory->data, memory->bytes, unwrap(Stream::wrap(device, memory->stream)),
                     held(nb::borrow(buffer))};
}

/// CuPy's arrays have the buffer protocol, too, and refuse it with an exception: objects of the type that showed memory
/// of CUDA last are asked for that first.
std::optional<PlainMemory> plain_memory(nb::handle buffer, bool writable) {
  static nb::handle cuda_type;  // guarded by the GIL, and kept
  const nb::handle type = buffer.type();
  const bool is_known = type.is(cuda_type);
  if (!is_known)
    if (std::optional<PlainMemory> host = plain_host(buffer, writable)) return host;
  std::optional<PlainMemory> cuda = plain_cuda(buffer, writable);
  if (cuda && !is_known) std::exchange(cuda_type, type.inc_ref()).dec_ref();
  return cuda;
}

/// The same for memory that shows itself by the buffer protocol or __cuda_array_interface__, and for plain numbers;
/// nullopt: this request is to be looked at closely, and may be to be refused.
std::optional<IoFuture> start_plain(const PyFile& self, bool reading, nb::handle buffer, nb::handle size,
                                    nb::handle file_offset, std::uint64_t threads, std::uint64_t piece_bytes) {
  const std::optional<std::uint64_t> offset = plain_number(file_offset);
  std::optional<std::uint64_t> bytes;
  if (!size.is_none() && !(bytes = plain_number(size))) return std::nullopt;
  if (!offset) return std::nullopt;
  std::optional<PlainMemory> memory = plain_memory(buffer, reading);
  if (!memory) return std::nullopt;
  const std::uint64_t wanted = part_of(memory->bytes, bytes, 0);
  return self.start(reading, memory->data, wanted, *offset,
                    options_of(threads, piece_bytes, memory->stream, std::move(memory->keep)));
}

/// Rows of (byte of the file, byte of the memory, bytes), whose memory has `all` bytes.
std::vector<FilePart> parts_of(nb::handle rows, std::uint64_t all) {
  const HeldBuffer buffer = held_buffer(rows, PyBUF_C_CONTIGUOUS);
  std::vector<FilePart> parts(buffer.bytes / sizeof(FilePart));
  if (!parts.empty()) std::memcpy(parts.data(), buffer.data, parts.size() * sizeof(FilePart));
  for (const FilePart& part : parts) (void)part_of(all, part.bytes, part.at);
  return parts;
}

IoFuture start_many(const PyFile& self, void* memory, const std::vector<FilePart>& parts, IoOptions options) {
  release_held();
  return without_gil(CallGuard::Threads::starts, [&, kept = std::move(options)]() mutable {
    const IoOptions given = std::move(kept);
    return self.file.start_read_many(memory, parts, given);
  });
}

IoFuture start_host_many(const PyFile& self, nb::handle buffer, nb::handle rows, std::uint64_t threads,
                         std::uint64_t piece_bytes) {
  HeldBuffer memory = held_buffer(buffer, PyBUF_ANY_CONTIGUOUS | PyBUF_WRITABLE);
  return start_many(self, memory.data, parts_of(rows, memory.bytes),
                    options_of(threads, piece_bytes, Stream(), std::move(memory.keep)));
}

IoFuture start_device_many(const PyFile& self, std::uintptr_t address, std::uint64_t all, nb::handle rows,
                           std::uint64_t threads, std::uint64_t piece_bytes, const Stream& stream, nb::object keep) {
  return start_many(self, reinterpret_cast<std::byte*>(address), parts_of(rows, all),
                    options_of(threads, piece_bytes, stream, held(std::move(keep))));
}

/// Waits without the GIL; a signal handler that raises ends the waiting, not the request.
void wait(const IoFuture& future) {
  CallGuard guard(CallGuard::Threads::none);
  while (!future.done()) {
    {
      nb::gil_scoped_release release;
      if (future.wait_for(std::chrono::milliseconds(50))) break;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  release_held();
}

IoEngine engine_of(const std::string& name) {
  if (name == "auto") return IoEngine::automatic;
  if (name == "buffered") return IoEngine::buffered;
  if (name == "direct") return IoEngine::direct;
  throw nb::value_error(("engine '" + name + "': it is 'auto', 'buffered' or 'direct'").c_str());
}

FileOptions options_of(const std::string& reads, const std::string& writes) {
  FileOptions options;
  options.reads = engine_of(reads);
  options.writes = engine_of(writes);
  return options;
}

}  // namespace

void bind_file(nb::module_& m) {
  nb::class_<Arrivals>(m, "Arrivals", "Numbers of requests that have ended, for an event loop.")
      .def("__init__", [](Arrivals* self) { new (self) Arrivals; })
      .def("descriptor", &Arrivals::descriptor, "Readable when there are some; -1: the system has no more descriptors.")
      .def("take", &Arrivals::take, "Those since the last call.");
  nb::class_<IoFuture>(m, "IoFuture", "A request that has been started.")
      .def("done", &IoFuture::done)
      .def(
          "wait",
          [](const IoFuture& f, double seconds) {
            nb::gil_scoped_release release;
            return f.wait_for(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
          },
          nb::arg("seconds"))
      .def("report",
           [](const IoFuture& f) {
             wait(f);
             return unwrap(f.get());
           })
      .def("get",
           [](const IoFuture& f) {
             wait(f);
             unwrap(f.status());
             return f.bytes();
           })
      .def(
          "arrive_in",
          [](const IoFuture& f, const std::shared_ptr<Arrivals>& arrivals, std::uint64_t number) {
            f.then([arrivals, number](const Result<Report>&) { arrivals->add(number); });
          },
          nb::arg("arrivals"), nb::arg("number"), "Adds `number` to `arrivals` once the request has ended.")
      .def(
          "then",
          [](const IoFuture& f, nb::object call) {
            const nb::handle target = call;
            f.then([target, kept = held(std::move(call))](const Result<Report>&) {
              if (!Py_IsInitialized()) return;
              nb::gil_scoped_acquire gil;
              try {
                target();
              } catch (nb::python_error& error) {
                error.discard_as_unraisable("penstock: a callback of a request");
              }
            });
          },
          nb::arg("call"), "Calls `call()` once the request has ended, at once or from another thread.");
  nb::class_<PyFile>(m, "File", "An open file.")
      .def_static(
          "open",
          [](const std::string& path, const std::string& flags, const std::string& reads, const std::string& writes) {
            const FileOptions options = options_of(reads, writes);
            auto file = without_gil(CallGuard::Threads::none, [&] { return File::open(path, flags, options); });
            return PyFile{unwrap(std::move(file), path)};
          },
          nb::arg("path"), nb::arg("flags"), nb::arg("reads"), nb::arg("writes"))
      .def_static(
          "from_descriptor",
          [](int fd, const std::string& reads, const std::string& writes) {
            return PyFile{unwrap(File::from_descriptor(fd, options_of(reads, writes)))};
          },
          nb::arg("fd"), nb::arg("reads"), nb::arg("writes"))
      .def("start_host", &start_host, nb::arg("reading"), nb::arg("buffer"), nb::arg("bytes").none(), nb::arg("offset"),
           nb::arg("begin"), nb::arg("threads"), nb::arg("piece_bytes"),
           "Into or out of a contiguous buffer from its byte `begin` on.")
      .def("start_device", &start_device, nb::arg("reading"), nb::arg("address"), nb::arg("all"),
           nb::arg("bytes").none(), nb::arg("offset"), nb::arg("begin"), nb::arg("threads"), nb::arg("piece_bytes"),
           nb::arg("stream"), nb::arg("keep"), nb::arg("in_stream"),
           "The same for `all` bytes of device memory at `address`, after the work of `stream` or in its order.")
      .def("start_host_many", &start_host_many, nb::arg("buffer"), nb::arg("parts"), nb::arg("threads"),
           nb::arg("piece_bytes"), "Reads `parts`, rows of (byte of the file, byte of the buffer, bytes) as uint64.")
      .def("start_device_many", &start_device_many, nb::arg("address"), nb::arg("all"), nb::arg("parts"),
           nb::arg("threads"), nb::arg("piece_bytes"), nb::arg("stream"), nb::arg("keep"))
      .def("start_plain", &start_plain, nb::arg("reading"), nb::arg("buffer"), nb::arg("size").none(),
           nb::arg("file_offset"), nb::arg("threads"), nb::arg("piece_bytes"),
           "For what the buffer protocol or __cuda_array_interface__ shows as contiguous memory; None: ask otherwise.")
      .def("close",
           [](const PyFile& f) { unwrap(without_gil(CallGuard::Threads::none, [&] { return f.file.close(); })); })
      .def("flush",
           [](const PyFile& f) { unwrap(without_gil(CallGuard::Threads::none, [&] { return f.file.flush(); })); })
      .def_prop_ro("closed", [](const PyFile& f) { return f.file.closed(); })
      .def_prop_ro("path", [](const PyFile& f) { return f.file.path(); })
      .def("descriptor", [](const PyFile& f) { return f.file.descriptor(); })
      .def("open_flags", [](const PyFile& f) { return f.file.open_flags(); })
      .def("size_bytes", [](const PyFile& f) { return unwrap(f.file.size_bytes()); })
      .def("engines",
           [](const PyFile& f) {
             std::vector<std::tuple<std::string, bool, std::string>> rows;
             for (const EngineAnswer& answer : f.file.engines())
               rows.emplace_back(answer.engine, answer.serves, answer.why);
             return rows;
           })
      .def(
          "page_cache",
          [](const PyFile& f, std::uint64_t offset, std::uint64_t bytes) {
            const PageCount count = unwrap(f.file.page_cache(offset, bytes));
            return std::tuple<std::uint64_t, std::uint64_t>(count.cached, count.all);
          },
          nb::arg("offset"), nb::arg("bytes"))
      .def(
          "drop_page_cache",
          [](const PyFile& f, std::uint64_t offset, std::uint64_t bytes) {
            unwrap(f.file.drop_page_cache(offset, bytes));
          },
          nb::arg("offset"), nb::arg("bytes"));
  m.def(
      "wait_for_io",
      [] {
        nb::gil_scoped_release release;
        wait_for_io();
      },
      "Waits until no request of the process is under way.");
}

}  // namespace penstock::python

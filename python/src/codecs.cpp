#include "codecs.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codec/batch/decode.hpp"
#include "codec/batch/encode.hpp"
#include "errors.hpp"
#include "jobs.hpp"

namespace nb = nanobind;

namespace penstock::python {
namespace {

using Threads = CallGuard::Threads;
using Task = std::tuple<std::uintptr_t, std::uint64_t, std::uintptr_t, std::uint64_t>;
using Place = std::tuple<std::uintptr_t, std::uint64_t>;  // address, bytes

struct PyBytesCodec {
  std::shared_ptr<const BytesToBytes> codec;
  std::shared_ptr<const DeviceDecoder> device_decoder;  // nullptr: only the CPU decodes it
  std::shared_ptr<BatchEncoder> device_encoder;         // nullptr: only the CPU encodes it
};

/// The bytes of Python objects, kept alive.
class HeldBuffers {
 public:
  explicit HeldBuffers(const nb::list& objects) {
    buffers_.reserve(objects.size());
    for (const nb::handle object : objects) {
      Py_buffer buffer;
      if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_SIMPLE) != 0) {
        release();
        throw nb::python_error();
      }
      buffers_.push_back(buffer);
    }
  }
  HeldBuffers(const HeldBuffers&) = delete;
  HeldBuffers& operator=(const HeldBuffers&) = delete;
  ~HeldBuffers() { release(); }
  [[nodiscard]] std::size_t size() const { return buffers_.size(); }
  [[nodiscard]] ByteView operator[](std::size_t i) const {
    return {static_cast<const std::byte*>(buffers_[i].buf), static_cast<std::size_t>(buffers_[i].len)};
  }

 private:
  void release() {
    for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
    buffers_.clear();
  }
  std::vector<Py_buffer> buffers_;
};

/// NumPy arrays that own what was made.
nb::list arrays_of(std::vector<Bytes> made) {
  nb::list out;
  for (Bytes& bytes : made) {
    auto owned = std::make_unique<Bytes>(std::move(bytes));
    void* const data = owned->data();
    const std::size_t size = owned->size();
    const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<Bytes*>(p); });
    (void)owned.release();
    out.append(nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, {size}, owner)));
  }
  return out;
}

Options with_threads(std::uint64_t threads) {
  Options options;
  options.threads = threads;
  return options;
}

nb::list decode(const PyBytesCodec& self, const nb::list& chunks,
                const std::vector<std::optional<std::uint64_t>>& expected_bytes, std::uint64_t threads) {
  if (chunks.size() != expected_bytes.size()) throw nb::value_error("as many sizes as chunks are needed");
  const HeldBuffers buffers(chunks);
  std::vector<EncodedChunk> encoded;
  for (std::size_t i = 0; i < buffers.size(); ++i) encoded.push_back({buffers[i], expected_bytes[i]});
  return arrays_of(
      unwrap(without_gil(Threads::starts, [&] { return decode_batch(*self.codec, encoded, with_threads(threads)); })));
}

nb::list encode(const PyBytesCodec& self, const nb::list& chunks, std::uint64_t threads) {
  const HeldBuffers buffers(chunks);
  std::vector<ByteView> plain;
  for (std::size_t i = 0; i < buffers.size(); ++i) plain.push_back(buffers[i]);
  return arrays_of(
      unwrap(without_gil(Threads::starts, [&] { return encode_batch(*self.codec, plain, with_threads(threads)); })));
}

const DeviceDecoder& device_decoder(const PyBytesCodec& self) {
  if (!self.device_decoder)
    raise(Error(ErrorCode::unsupported, "codec " + self.codec->spec().name + " has no device decoder"));
  return *self.device_decoder;
}

std::vector<DecodeTask> tasks_of(const std::vector<Task>& tasks) {
  std::vector<DecodeTask> out;
  for (const auto& [in, in_bytes, to, to_bytes] : tasks)
    out.push_back({reinterpret_cast<const std::byte*>(in), in_bytes, reinterpret_cast<std::byte*>(to), to_bytes});
  return out;
}

/// "" for each chunk that was decoded, else why it was not.
std::vector<std::string> decode_on(const PyBytesCodec& self, const std::vector<Task>& tasks, std::uintptr_t room,
                                   std::uint64_t room_size, std::optional<Stream> stream) {
  const DeviceDecoder& decoder = device_decoder(self);
  const std::vector<DecodeTask> made = tasks_of(tasks);
  const ByteSpan memory(reinterpret_cast<std::byte*>(room), room_size);
  const auto statuses = unwrap(
      without_gil(Threads::none, [&] { return decode_batch_on(decoder, made, memory, stream.value_or(Stream())); }));
  std::vector<std::string> problems;
  for (const ChunkStatus& status : statuses)
    problems.emplace_back(status.status == DecodeStatus::ok ? std::string_view() : decode_status_text(status.status));
  return problems;
}

BatchEncoder& device_encoder(const PyBytesCodec& self) {
  if (!self.device_encoder)
    raise(Error(ErrorCode::unsupported, "codec " + self.codec->spec().name + " has no device encoder"));
  return *self.device_encoder;
}

std::vector<ByteView> views_of(const std::vector<Place>& places) {
  std::vector<ByteView> out;
  for (const auto& [at, bytes] : places) out.emplace_back(reinterpret_cast<const std::byte*>(at), bytes);
  return out;
}

/// Whether the device is to encode the batch, why, and where the encoded chunks are; address 0: it could not.
std::tuple<bool, std::string, std::vector<Place>> encode_on(const PyBytesCodec& self, const std::vector<Place>& chunks,
                                                            std::uintptr_t room, std::uint64_t room_size,
                                                            std::uint64_t threads, std::optional<Stream> stream) {
  BatchEncoder& encoder = device_encoder(self);
  const std::vector<ByteView> plain = views_of(chunks);
  const ByteSpan memory(reinterpret_cast<std::byte*>(room), room_size);
  EncodedBatch made = unwrap(
      without_gil(Threads::none, [&] { return encoder.encode(plain, memory, threads, stream.value_or(Stream())); }));
  std::vector<Place> encoded;
  for (const ByteView& chunk : made.encoded)
    encoded.emplace_back(reinterpret_cast<std::uintptr_t>(chunk.data()), chunk.size());
  return {made.on_device, std::move(made.reason), std::move(encoded)};
}

}  // namespace

void bind_codecs(nb::module_& m) {
  nb::class_<PyBytesCodec>(m, "BytesCodec", "A bytes->bytes codec away from any array.  Thread-safe.")
      .def(
          "__init__",
          [](PyBytesCodec* self, const std::string& name, const std::string& configuration) {
            std::shared_ptr<const BytesToBytes> codec = unwrap(make_bytes_codec({name, configuration}));
            std::shared_ptr<const DeviceDecoder> decoder = codec->device_decoder();
            std::shared_ptr<BatchEncoder> encoder;
            if (codec->device_encoder() != nullptr) encoder = std::make_shared<BatchEncoder>(codec);
            new (self) PyBytesCodec{std::move(codec), std::move(decoder), std::move(encoder)};
          },
          nb::arg("name"), nb::arg("configuration"), "zarr v3 name, and configuration as JSON.")
      .def("decode", &decode, nb::arg("chunks"), nb::arg("expected_bytes"), nb::arg("threads") = 0,
           nb::sig("def decode(self, chunks: list[object], expected_bytes: Sequence[int | None], threads: int = 0) -> "
                   "list[numpy.typing.NDArray[numpy.uint8]]"),
           "Decodes a batch in host memory, on all cores.  expected_bytes: decoded sizes as far as they are known.")
      .def("encode", &encode, nb::arg("chunks"), nb::arg("threads") = 0,
           nb::sig("def encode(self, chunks: list[object], threads: int = 0) -> "
                   "list[numpy.typing.NDArray[numpy.uint8]]"),
           "Encodes a batch in host memory, on all cores.")
      .def_prop_ro(
          "device_decoder",
          [](const PyBytesCodec& self) -> std::optional<std::string> {
            if (!self.device_decoder) return std::nullopt;
            return std::string(self.device_decoder->name());
          },
          "Name of the device decoder; None: only the CPU decodes it.")
      .def(
          "room_bytes",
          [](const PyBytesCodec& self, const std::vector<Task>& tasks) {
            return room_bytes(device_decoder(self), tasks_of(tasks));
          },
          nb::arg("tasks"), "Device memory that decode_on needs besides input and output.")
      .def(
          "decode_on", &decode_on, nb::arg("tasks"), nb::arg("room"), nb::arg("room_bytes"),
          nb::arg("stream") = nb::none(),
          "Decodes a batch whose memory is on the stream's device, in the order of the stream, and waits.  Tasks: "
          "(address, bytes) of the encoded and of the decoded chunk.  Gives \"\" for each chunk that was decoded, else "
          "why it was not.  No stream: the decoder's algorithm on the CPU, in host memory.")
      .def_prop_ro(
          "device_encoder",
          [](const PyBytesCodec& self) -> std::optional<std::string> {
            if (!self.device_encoder) return std::nullopt;
            return std::string(self.device_encoder->name());
          },
          "Name of the device encoder; None: only the CPU encodes it.")
      .def(
          "wants_device",
          [](const PyBytesCodec& self, std::uint64_t chunks) {
            return unwrap(device_encoder(self).wants_device(chunks));
          },
          nb::arg("chunks"),
          "Whether a batch of so many chunks is to be encoded on a device, perhaps only to be tried there: as "
          "PENSTOCK_ENCODE says.")
      .def(
          "encode_room_bytes",
          [](const PyBytesCodec& self, const std::vector<Place>& chunks) {
            return device_encoder(self).room_bytes(views_of(chunks));
          },
          nb::arg("chunks"), "Device memory that encode_on needs besides the chunks.")
      .def("encode_on", &encode_on, nb::arg("chunks"), nb::arg("room"), nb::arg("room_bytes"), nb::arg("threads") = 0,
           nb::arg("stream") = nb::none(),
           "Encodes a batch whose memory is on the stream's device, in the order of the stream, and waits.  Chunks: "
           "(address, bytes).  Gives whether the device is to encode it (after a trial against the CPU on `threads` "
           "threads, when one is due), why, and (address, bytes) of each encoded chunk in the room; address 0: the "
           "device could not encode it.  No stream: the encoder's algorithm on the CPU, in host memory.");
}

}  // namespace penstock::python

// Finding devices, and the public objects that forward to a backend.
#include "penstock/device.hpp"

#include <bit>
#include <charconv>
#include <utility>

#include "device/backend.hpp"
#include "penstock/device_memory.hpp"

namespace penstock {
namespace {

constexpr std::string_view kAccepted = "accepted are auto, cpu, cuda, cuda:0, cuda:1, ...";

/// The backend of `device`, or why there is none.
Result<Backend*> backend_of(Device device) {
  Backend* backend = find_backend(device.type);
  if (backend == nullptr) return Error(ErrorCode::no_device, device.name() + ": " + cuda_unavailable_reason());
  return backend;
}

Status check_exists(Device device) {
  PENSTOCK_ASSIGN(Backend * backend, backend_of(device));
  const int count = backend->count();
  if (count == 0) return Error(ErrorCode::no_device, device.name() + ": " + backend->unavailable_reason());
  if (device.index >= 0 && device.index < count) return {};
  return Error(ErrorCode::no_device,
               device.name() + ": no device of this index; the last is " + Device{device.type, count - 1}.name());
}

}  // namespace

std::string Device::name() const { return type == Type::cpu ? "cpu" : "cuda:" + std::to_string(index); }

Result<Device> Device::parse(std::string_view text) {
  if (text == "cpu") return Device{};
  if (text == "auto") {
    const Backend* cuda = find_backend(Type::cuda);
    return cuda != nullptr && cuda->count() > 0 ? Device{Type::cuda, 0} : Device{};
  }
  const auto bad = [&] {
    return Error(ErrorCode::invalid_argument,
                 "device '" + std::string(text) + "' is not understood: " + std::string(kAccepted));
  };
  if (!text.starts_with("cuda")) return bad();
  Device device{Type::cuda, 0};
  if (text.size() > 4) {
    const char* end = text.data() + text.size();
    if (text[4] != ':' || text.size() == 5 || text[5] < '0' || text[5] > '9') return bad();
    const auto [stop, error] = std::from_chars(text.data() + 5, end, device.index);
    if (error != std::errc() || stop != end) return bad();
  }
  PENSTOCK_TRY(check_exists(device));
  return device;
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all;
  for (const Device::Type type : {Device::Type::cuda, Device::Type::cpu})
    if (Backend* backend = find_backend(type))
      for (DeviceInfo& info : backend->devices()) all.push_back(std::move(info));
  return all;
}

std::string cuda_unavailable_reason() {
  if (Backend* backend = find_backend(Device::Type::cuda)) return backend->unavailable_reason();
  return "this penstock was built without CUDA";
}

Status Stream::synchronize() const {
  PENSTOCK_ASSIGN(Backend * backend, backend_of(device_));
  return backend->synchronize(device_.index, native_);
}

Result<Stream> Stream::create(Device device) {
  PENSTOCK_TRY(check_exists(device));
  PENSTOCK_ASSIGN(Backend * backend, backend_of(device));
  Stream stream;
  PENSTOCK_ASSIGN(stream.owner_, backend->create_stream(device.index));
  stream.device_ = device;
  stream.native_ = stream.owner_.get();
  return stream;
}

Result<Stream> Stream::wrap(Device device, void* native) {
  PENSTOCK_TRY(check_exists(device));
  if (device.type == Device::Type::cpu && native != nullptr)
    return Error(ErrorCode::invalid_argument, "cpu: there is no stream to wrap");
  Stream stream;
  stream.device_ = device;
  stream.native_ = native;
  return stream;
}

Result<Event> Event::record(const Stream& stream) {
  PENSTOCK_ASSIGN(Backend * backend, backend_of(stream.device()));
  Event event;
  event.device_ = stream.device();
  PENSTOCK_ASSIGN(event.native_, backend->record_event(stream.device().index, stream.native()));
  return event;
}

Status Event::wait_on(const Stream& stream) const {
  // A CPU stream is the caller itself: it has to wait.
  if (stream.device().type == Device::Type::cpu) return synchronize();
  if (device_.type == Device::Type::cpu) return {};
  PENSTOCK_ASSIGN(Backend * backend, backend_of(stream.device()));
  return backend->wait_event(stream.device().index, stream.native(), native_.get());
}

Status Event::synchronize() const {
  PENSTOCK_ASSIGN(Backend * backend, backend_of(device_));
  return backend->synchronize_event(native_.get());
}

Result<bool> Event::done() const {
  PENSTOCK_ASSIGN(Backend * backend, backend_of(device_));
  return backend->event_done(native_.get());
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      stream_(std::move(other.stream_)),
      memory_(std::move(other.memory_)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer old(std::move(*this));
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  stream_ = std::move(other.stream_);
  memory_ = std::move(other.memory_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) memory_->do_free(data_, size_, stream_);
}

Result<Buffer> Memory::allocate(std::uint64_t bytes, std::size_t alignment, const Stream& stream) {
  if (!std::has_single_bit(alignment))
    return Error(ErrorCode::invalid_argument, "alignment " + std::to_string(alignment) + " is no power of two");
  if (stream.device() != device())
    return Error(ErrorCode::invalid_argument,
                 "memory of " + device().name() + " asked for on a stream of " + stream.device().name());
  Buffer buffer;
  if (bytes == 0) return buffer;
  PENSTOCK_ASSIGN(void* data, do_allocate(bytes, alignment, stream));
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.size_ = bytes;
  buffer.stream_ = stream;
  buffer.memory_ = shared_from_this();
  return buffer;
}

Result<std::shared_ptr<Memory>> Memory::create(Device device, std::uint64_t cap_bytes) {
  PENSTOCK_TRY(check_exists(device));
  PENSTOCK_ASSIGN(Backend * backend, backend_of(device));
  return backend->create_memory(device.index, cap_bytes);
}

Status copy_async(void* to, Device to_device, const void* from, Device from_device, std::uint64_t bytes,
                  const Stream& stream) {
  const Device where = stream.device();
  for (const Device device : {to_device, from_device})
    if (device.type != Device::Type::cpu && device.type != where.type)
      return Error(ErrorCode::invalid_argument,
                   "copy of memory of " + device.name() + " on a stream of " + where.name());
  PENSTOCK_ASSIGN(Backend * backend, backend_of(where));
  if (to_device.type == from_device.type && to_device.index != from_device.index)
    return backend->copy_between_async(to, to_device.index, from, from_device.index, bytes, where.index,
                                       stream.native());
  return backend->copy_async(to, from, bytes, where.index, stream.native());
}

Result<Device> cuda_device_of(const void* address) {
  Backend* cuda = find_backend(Device::Type::cuda);
  if (cuda == nullptr) return Error(ErrorCode::no_device, cuda_unavailable_reason());
  PENSTOCK_ASSIGN(const int index, cuda->index_of(address));
  return Device{Device::Type::cuda, index};
}

}  // namespace penstock

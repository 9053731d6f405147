// What a backend must offer.  One object per kind of device, registered in device/list.cpp.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "penstock/bytes.hpp"
#include "penstock/device.hpp"

namespace penstock {

/// One of many copies.
struct Copy {
  void* to;
  const void* from;
  std::uint64_t bytes;
};

/// All calls are thread-safe and leave the caller's current CUDA device as it was.
class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual Device::Type type() const = 0;
  /// Devices usable now; does not start any of them.
  [[nodiscard]] virtual int count() const = 0;
  /// What they are; starts them, to ask for free memory.
  [[nodiscard]] virtual std::vector<DeviceInfo> devices() const = 0;
  /// Why there is none; empty when there is one.
  [[nodiscard]] virtual std::string unavailable_reason() const = 0;
  /// All memory of a device, used or not; UINT64_MAX where that cannot be said.
  [[nodiscard]] virtual std::uint64_t memory_bytes(int) { return UINT64_MAX; }

  /// Device that `memory` is on.  Errors: invalid_argument (not memory of such a device).
  [[nodiscard]] virtual Result<int> index_of(const void* memory) = 0;
  [[nodiscard]] virtual Result<std::shared_ptr<void>> create_stream(int index) = 0;
  [[nodiscard]] virtual Status synchronize(int index, void* stream) = 0;
  /// Whether all of the stream's work is done; true cannot be too early, false may be too late.
  [[nodiscard]] virtual Result<bool> idle(int index, void* stream) = 0;
  [[nodiscard]] virtual Result<std::shared_ptr<void>> record_event(int index, void* stream) = 0;
  [[nodiscard]] virtual Status wait_event(int index, void* stream, void* event) = 0;
  [[nodiscard]] virtual Status synchronize_event(void* event) = 0;
  [[nodiscard]] virtual Result<bool> event_done(void* event) = 0;
  /// Calls `call(argument)` when the work that is in the stream now is done; later work waits for it.  It must neither
  /// call a backend nor wait for work of a device.
  [[nodiscard]] virtual Status call_host(int index, void* stream, void (*call)(void*), void* argument) = 0;

  [[nodiscard]] virtual Result<std::shared_ptr<Memory>> create_memory(int index, std::uint64_t cap_bytes) = 0;
  [[nodiscard]] virtual Status copy_async(void* to, const void* from, std::uint64_t bytes, int index, void* stream) = 0;
  /// Between two devices of this kind, in the order of a stream of device `index`.  As it is here, for kinds whose
  /// devices see each other's memory.
  [[nodiscard]] virtual Status copy_between_async(void* to, int to_index, const void* from, int from_index,
                                                  std::uint64_t bytes, int index, void* stream) {
    (void)to_index, (void)from_index;
    return copy_async(to, from, bytes, index, stream);
  }
  /// Many copies in one call, in any order among themselves; `stream` is one that create_stream made.  After an error
  /// some of them may be on their way.
  [[nodiscard]] virtual Status copy_many_async(std::span<const Copy> copies, int index, void* stream) {
    for (const Copy& copy : copies) PENSTOCK_TRY(copy_async(copy.to, copy.from, copy.bytes, index, stream));
    return {};
  }
  [[nodiscard]] virtual Status fill_async(void* to, std::byte value, std::uint64_t bytes, int index, void* stream) = 0;
  /// Whether work on the device can read pinned memory at the host's addresses.
  [[nodiscard]] virtual bool reads_pinned(int index) = 0;
  /// Host memory that the device reads at full speed.
  [[nodiscard]] virtual Result<void*> allocate_pinned(std::uint64_t bytes) = 0;
  virtual void free_pinned(void* data) noexcept = 0;
  /// The whole allocation that an address of the device lies in: no copy may reach beyond it.  Errors: also where that
  /// cannot be told.
  [[nodiscard]] virtual Result<ByteView> allocation_of(int index, const void* memory) {
    (void)index, (void)memory;
    return Error(ErrorCode::unsupported, "this kind of device does not tell where an allocation ends");
  }
};

/// The backend of a kind of device; nullptr when it is not built in.
Backend* find_backend(Device::Type type);

}  // namespace penstock

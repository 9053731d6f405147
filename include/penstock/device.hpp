// Processors, their memory and their queues.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// A processor: "cpu", "cuda:0".
struct PENSTOCK_API Device {
  /// Kinds of processor.
  enum class Type : std::uint8_t { cpu, cuda };
  Type type = Type::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
  [[nodiscard]] std::string name() const;
  /// "cpu", "cuda", "cuda:1"; "auto" is the first CUDA device, else the CPU.
  /// Errors: invalid_argument (syntax), no_device (not built in, no driver, no such index; the reason is in the text).
  static Result<Device> parse(std::string_view text);
};

/// What a device is, for people.
struct DeviceInfo {
  Device device;
  std::string description;  ///< "NVIDIA H200", "AMD EPYC, 16 threads"
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  int driver_version = 0;      ///< CUDA: 13000
  int compute_capability = 0;  ///< CUDA: 90
};
/// All devices that can be used now, the CPU last.
PENSTOCK_API std::vector<DeviceInfo> devices();
/// Why there is no CUDA device ("built without CUDA", "no driver", ...); empty when there is one.
PENSTOCK_API std::string cuda_unavailable_reason();

class Backend;  // src/device/backend.hpp

/// A queue of work on one device.  Copies refer to the same queue.  On the CPU it is nothing.
class PENSTOCK_API Stream {
 public:
  Stream() = default;  ///< the CPU
  [[nodiscard]] Device device() const { return device_; }
  /// cudaStream_t of a CUDA stream.
  [[nodiscard]] void* native() const { return native_; }
  [[nodiscard]] Status synchronize() const;

  /// A new queue, destroyed with its last copy (after its work is done).
  static Result<Stream> create(Device device);
  /// The caller's own queue; not owned.  `native` is a cudaStream_t.
  static Result<Stream> wrap(Device device, void* native);

 private:
  Device device_;
  void* native_ = nullptr;
  std::shared_ptr<void> owner_;
};

/// A mark in a Stream.
class PENSTOCK_API Event {
 public:
  /// Marks what is in the stream now.
  static Result<Event> record(const Stream& stream);
  /// Makes later work of `stream` wait for the mark; the caller does not wait.
  [[nodiscard]] Status wait_on(const Stream& stream) const;
  [[nodiscard]] Status synchronize() const;
  [[nodiscard]] Result<bool> done() const;

 private:
  Device device_;
  std::shared_ptr<void> native_;
};

class Memory;

/// Owned memory of a device.  Freed in the order of the stream it was allocated on.
class PENSTOCK_API Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const Stream& stream() const { return stream_; }
  /// Lets the memory be freed in the order of another stream of its device, which the caller has made wait for its
  /// users.
  void free_on(Stream stream) { stream_ = std::move(stream); }

 private:
  friend class Memory;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  Stream stream_;
  std::shared_ptr<Memory> memory_;
};

/// Where Buffers come from.  Implementations: the device's own pool with a cap; a foreign allocator.
class PENSTOCK_API Memory : public std::enable_shared_from_this<Memory> {
 public:
  virtual ~Memory() = default;
  /// `bytes` at `alignment`, usable by later work of `stream`.  Not initialised.  Errors: out_of_memory.
  Result<Buffer> allocate(std::uint64_t bytes, std::size_t alignment, const Stream& stream);
  [[nodiscard]] virtual Device device() const = 0;
  /// Bytes handed out now, and the most ever.
  [[nodiscard]] virtual std::uint64_t in_use_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t peak_bytes() const = 0;

  /// A pool on `device` that never hands out more than `cap_bytes` (0: no cap).
  static Result<std::shared_ptr<Memory>> create(Device device, std::uint64_t cap_bytes);

 protected:
  friend class Buffer;
  virtual Result<void*> do_allocate(std::uint64_t bytes, std::size_t alignment, const Stream& stream) = 0;
  virtual void do_free(void* data, std::uint64_t bytes, const Stream& stream) noexcept = 0;
};

/// Copies between any two devices in the order of `stream`; returns before the copy is done unless both are the CPU.
PENSTOCK_API Status copy_async(void* to, Device to_device, const void* from, Device from_device, std::uint64_t bytes,
                               const Stream& stream);

}  // namespace penstock

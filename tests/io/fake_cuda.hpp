// A CUDA device made of host memory, in place of the real one in this test program: streams are threads, copies take
// time, and any call can be told to fail.  What depends on the order of streams can be seen without a GPU.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "penstock/device.hpp"

namespace penstock::test {

/// Memory "of the device" while it lives.
class DeviceMemory {
 public:
  /// As so many neighbours of the same size, each allocated by itself: no copy may span two of them.
  explicit DeviceMemory(std::size_t bytes, std::size_t neighbours = 1);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();
  [[nodiscard]] std::byte* data() { return bytes_.data(); }
  /// To be written into, not replaced: the device knows where they lie.
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t neighbours_;
};

/// What each copy takes from now on.
void slow_copies(std::chrono::microseconds each);
/// Puts work of the test into a stream.
void put_work(const Stream& stream, std::function<void()> work);
/// The call after `skip` that can fail fails, once.
void fail_device_call(int skip);
/// Whether one failed since.
bool stop_failing_device();
/// From now on there is no pinned memory, or there is again.
void refuse_pinned(bool refuse);
/// Marks and copies put into streams until now.
int marks();
int copies();

}  // namespace penstock::test

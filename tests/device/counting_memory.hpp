// Host memory that counts what it hands out: a foreign allocator as a test needs it.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "penstock/device.hpp"

namespace penstock::test {

class CountingMemory final : public Memory {
 public:
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] std::uint64_t in_use_bytes() const override { return in_use_; }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return peak_; }
  [[nodiscard]] std::uint64_t allocations() const { return allocations_; }
  /// Claims another device; what was handed out stays on the host.
  void pretend_to_be(Device device) { device_ = device; }

 protected:
  Result<void*> do_allocate(std::uint64_t bytes, std::size_t alignment, const Stream&) override {
    allocations_ += 1;
    in_use_ += bytes;
    peak_ = std::max<std::uint64_t>(peak_, in_use_);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void do_free(void* data, std::uint64_t bytes, const Stream&) noexcept override {
    in_use_ -= bytes;
    std::free(data);
  }

 private:
  Device device_;
  std::atomic<std::uint64_t> in_use_ = 0, peak_ = 0, allocations_ = 0;
};

}  // namespace penstock::test

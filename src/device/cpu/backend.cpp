#include "device/cpu/backend.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/pages.hpp"
#include "core/units.hpp"
#include "device/capped_counter.hpp"
#include "device/cpu/host_memory.hpp"

namespace penstock {
namespace {

class CpuMemory final : public Memory {
 public:
  explicit CpuMemory(std::uint64_t cap_bytes) : counter_(cap_bytes) {}
  [[nodiscard]] Device device() const override { return {}; }
  [[nodiscard]] std::uint64_t in_use_bytes() const override { return counter_.in_use(); }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return counter_.peak(); }

 protected:
  Result<void*> do_allocate(std::uint64_t bytes, std::size_t alignment, const Stream&) override {
    if (!counter_.take(bytes))
      return Error(ErrorCode::out_of_memory, "cpu: " + format_bytes(bytes) + " more than the " +
                                                 format_bytes(counter_.in_use()) + " in use would pass the cap of " +
                                                 format_bytes(counter_.cap()));
    void* data = take_memory(bytes, alignment);
    if (data == nullptr) {
      counter_.give(bytes);
      return Error(ErrorCode::out_of_memory, "cpu: cannot allocate " + format_bytes(bytes));
    }
    return data;
  }
  void do_free(void* data, std::uint64_t bytes, const Stream&) noexcept override {
    give_memory(data, bytes);
    counter_.give(bytes);
  }

 private:
  CappedCounter counter_;
};

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::uint64_t pages(int name) {
  const long count = ::sysconf(name);
  const long size = ::sysconf(_SC_PAGESIZE);
  return count > 0 && size > 0 ? static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size) : 0;
}

class CpuBackend final : public Backend {
 public:
  [[nodiscard]] Device::Type type() const override { return Device::Type::cpu; }
  [[nodiscard]] int count() const override { return 1; }
  [[nodiscard]] std::vector<DeviceInfo> devices() const override {
    DeviceInfo info;
    const unsigned threads = std::thread::hardware_concurrency();
    info.description = cpu_model() + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    info.memory_bytes = pages(_SC_PHYS_PAGES);
    info.free_bytes = pages(_SC_AVPHYS_PAGES);
    return {info};
  }
  [[nodiscard]] std::string unavailable_reason() const override { return {}; }

  Result<int> index_of(const void*) override { return 0; }
  // Work is done when a call returns, so a queue and a mark in it hold nothing.
  Result<std::shared_ptr<void>> create_stream(int) override { return std::shared_ptr<void>(); }
  Status synchronize(int, void*) override { return {}; }
  Result<bool> idle(int, void*) override { return true; }
  Result<std::shared_ptr<void>> record_event(int, void*) override { return std::shared_ptr<void>(); }
  Status wait_event(int, void*, void*) override { return {}; }
  Status synchronize_event(void*) override { return {}; }
  Result<bool> event_done(void*) override { return true; }
  Status call_host(int, void*, void (*call)(void*), void* argument) override {
    call(argument);
    return {};
  }

  Result<std::shared_ptr<Memory>> create_memory(int, std::uint64_t cap_bytes) override {
    return std::shared_ptr<Memory>(std::make_shared<CpuMemory>(cap_bytes));
  }
  Status copy_async(void* to, const void* from, std::uint64_t bytes, int, void*) override {
    if (bytes > 0) std::memmove(to, from, bytes);
    return {};
  }
  Status fill_async(void* to, std::byte value, std::uint64_t bytes, int, void*) override {
    if (bytes > 0) std::memset(to, std::to_integer<int>(value), bytes);
    return {};
  }
  bool reads_pinned(int) override { return true; }
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    void* data = allocate_host(bytes, 4096);
    if (data == nullptr) return Error(ErrorCode::out_of_memory, "cpu: cannot allocate " + format_bytes(bytes));
    return data;
  }
  void free_pinned(void* data) noexcept override { std::free(data); }
};

}  // namespace

Backend& cpu_backend() {
  static CpuBackend backend;
  return backend;
}

}  // namespace penstock

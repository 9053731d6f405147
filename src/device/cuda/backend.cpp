#include "device/cuda/backend.hpp"

#include <cudaTypedefs.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "core/units.hpp"
#include "device/cpu/host_memory.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/memory.hpp"

namespace penstock {
namespace {

/// How long a waiter polls before it falls asleep: waking up takes longer than a small chunk's way to the device.
constexpr std::chrono::microseconds kPollTime{100};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Devices that the driver offers, or why there are none.
struct Probe {
  int count = 0;
  std::string reason;
};

Probe probe() {
  Probe result;
  const cudaError_t error = cudaGetDeviceCount(&result.count);
  if (error == cudaSuccess && result.count > 0) return result;
  (void)cudaGetLastError();
  result.count = 0;
  int driver = 0;
  int runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  if (error == cudaErrorInsufficientDriver)
    result.reason = driver == 0 ? "no NVIDIA driver"
                                : "the NVIDIA driver supports CUDA " + version_text(driver) + ", this penstock needs " +
                                      version_text(runtime);
  else if (error == cudaErrorNoDevice || error == cudaSuccess)
    result.reason = std::getenv("CUDA_VISIBLE_DEVICES") != nullptr
                        ? "the NVIDIA driver finds no GPU (CUDA_VISIBLE_DEVICES is set)"
                        : "the NVIDIA driver finds no GPU";
  else
    result.reason = std::string("the NVIDIA driver failed: ") + cudaGetErrorString(error);
  return result;
}

cudaStream_t native(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t native_event(void* event) { return static_cast<cudaEvent_t>(event); }

Result<bool> is_ready(cudaError_t error, const char* what) {
  if (error == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  PENSTOCK_TRY(cuda_status(error, what));
  return true;
}

constexpr std::size_t kMaxBatch = 256;

/// At most kMaxBatch copies by one call of the driver (CUDA 12.8 and later).
cudaError_t copy_batch(std::span<const Copy> copies, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  std::array<void*, kMaxBatch> to{};
  std::array<const void*, kMaxBatch> from{};
  std::array<std::size_t, kMaxBatch> bytes{};
  for (std::size_t i = 0; i < copies.size(); ++i) {
    to[i] = copies[i].to;
    from[i] = copies[i].from;
    bytes[i] = copies[i].bytes;
  }
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
  return cudaMemcpyBatchAsync(to.data(), from.data(), bytes.data(), copies.size(), &attributes, &first, 1, stream);
#else
  (void)copies, (void)stream;
  return cudaErrorNotSupported;
#endif
}

/// A function of the driver, which the runtime finds: nothing of ours is linked against it.
PFN_cuMemGetAddressRange_v3020 find_address_range() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned kVersion = 3020;
  if (cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &found, kVersion, cudaEnableDefault, &result) !=
          cudaSuccess ||
      result != cudaDriverEntryPointSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<PFN_cuMemGetAddressRange_v3020>(found);
}

class CudaBackend final : public Backend {
 public:
  [[nodiscard]] Device::Type type() const override { return Device::Type::cuda; }
  [[nodiscard]] int count() const override { return probed().count; }
  [[nodiscard]] std::string unavailable_reason() const override { return probed().reason; }

  [[nodiscard]] std::uint64_t memory_bytes(int index) override {
    static std::array<std::atomic<std::uint64_t>, 64> known;  // asked for once: each read wants it
    const auto slot = static_cast<std::size_t>(index);
    if (slot < known.size() && known[slot] != 0) return known[slot];
    const DeviceGuard guard(index);
    std::size_t free_bytes = 0, total = 0;
    if (!guard.status() || cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) {
      (void)cudaGetLastError();
      return UINT64_MAX;
    }
    if (slot < known.size()) known[slot] = total;
    return total;
  }

  [[nodiscard]] std::vector<DeviceInfo> devices() const override {
    std::vector<DeviceInfo> all;
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    for (int index = 0; index < count(); ++index) {
      cudaDeviceProp properties{};
      if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
        (void)cudaGetLastError();
        continue;
      }
      DeviceInfo info;
      info.device = {Device::Type::cuda, index};
      info.description = properties.name;
      info.memory_bytes = properties.totalGlobalMem;
      info.driver_version = driver;
      info.compute_capability = properties.major * 10 + properties.minor;
      const DeviceGuard guard(index);
      std::size_t free_bytes = 0, total = 0;
      if (guard.status() && cudaMemGetInfo(&free_bytes, &total) == cudaSuccess) info.free_bytes = free_bytes;
      all.push_back(std::move(info));
    }
    return all;
  }

  Result<int> index_of(const void* memory) override {
    cudaPointerAttributes attributes{};
    PENSTOCK_TRY(cuda_status(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes"));
    if (attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged) return attributes.device;
    return Error(ErrorCode::invalid_argument,
                 "the address " + std::to_string(reinterpret_cast<std::uintptr_t>(memory)) + " is not CUDA memory");
  }
  Result<ByteView> allocation_of(int index, const void* memory) override {
    static const PFN_cuMemGetAddressRange_v3020 address_range = find_address_range();
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    CUdeviceptr begin = 0;
    std::size_t bytes = 0;
    if (address_range == nullptr ||
        address_range(&begin, &bytes, reinterpret_cast<CUdeviceptr>(memory)) != CUDA_SUCCESS)
      return Error(ErrorCode::device_error, "the driver does not tell where an allocation ends");
    return ByteView(reinterpret_cast<const std::byte*>(begin), bytes);
  }
  Result<std::shared_ptr<void>> create_stream(int index) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    cudaStream_t stream = nullptr;
    PENSTOCK_TRY(cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"));
    return std::shared_ptr<void>(stream, [](void* s) { (void)cudaStreamDestroy(native(s)); });
  }
  Status synchronize(int index, void* stream) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    return cuda_status(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
  }
  Result<bool> idle(int index, void* stream) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    return is_ready(cudaStreamQuery(native(stream)), "cudaStreamQuery");
  }
  Result<std::shared_ptr<void>> record_event(int index, void* stream) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    cudaEvent_t event = nullptr;
    // Blocking sync: long waits sleep instead of spinning, which leaves the core to the decoders.
    PENSTOCK_TRY(cuda_status(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
                             "cudaEventCreate"));
    std::shared_ptr<void> owner(event, [](void* e) { (void)cudaEventDestroy(native_event(e)); });
    PENSTOCK_TRY(cuda_status(cudaEventRecord(event, native(stream)), "cudaEventRecord"));
    return owner;
  }
  Status wait_event(int index, void* stream, void* event) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    return cuda_status(cudaStreamWaitEvent(native(stream), native_event(event), 0), "cudaStreamWaitEvent");
  }
  Status synchronize_event(void* event) override {
    const auto until = std::chrono::steady_clock::now() + kPollTime;
    do {
      PENSTOCK_ASSIGN(const bool done, event_done(event));
      if (done) return {};
    } while (std::chrono::steady_clock::now() < until);
    return cuda_status(cudaEventSynchronize(native_event(event)), "cudaEventSynchronize");
  }
  Result<bool> event_done(void* event) override {
    return is_ready(cudaEventQuery(native_event(event)), "cudaEventQuery");
  }
  Status call_host(int index, void* stream, void (*call)(void*), void* argument) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    return cuda_status(cudaLaunchHostFunc(native(stream), call, argument), "cudaLaunchHostFunc");
  }

  Result<std::shared_ptr<Memory>> create_memory(int index, std::uint64_t cap_bytes) override {
    return create_cuda_memory(index, cap_bytes);
  }
  Status copy_async(void* to, const void* from, std::uint64_t bytes, int index, void* stream) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    return cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)), "cudaMemcpyAsync");
  }
  Status copy_between_async(void* to, int to_index, const void* from, int from_index, std::uint64_t bytes, int index,
                            void* stream) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    // Memory of a pool is not to be seen from another device, which a copy that is not told of both takes it to be.
    return cuda_status(cudaMemcpyPeerAsync(to, to_index, from, from_index, bytes, native(stream)),
                       "cudaMemcpyPeerAsync");
  }
  Status copy_many_async(std::span<const Copy> copies, int index, void* stream) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    for (; copies.size() > 1; copies = copies.subspan(std::min(copies.size(), kMaxBatch))) {
      const cudaError_t error = copy_batch(copies.first(std::min(copies.size(), kMaxBatch)), native(stream));
      if (error == cudaErrorNotSupported || error == cudaErrorCallRequiresNewerDriver) {
        (void)cudaGetLastError();
        break;  // one by one
      }
      PENSTOCK_TRY(cuda_status(error, "cudaMemcpyBatchAsync"));
    }
    return Backend::copy_many_async(copies, index, stream);
  }
  Status fill_async(void* to, std::byte value, std::uint64_t bytes, int index, void* stream) override {
    const DeviceGuard guard(index);
    PENSTOCK_TRY(guard.status());
    return cuda_status(cudaMemsetAsync(to, std::to_integer<int>(value), bytes, native(stream)), "cudaMemsetAsync");
  }
  bool reads_pinned(int index) override {
    int can = 0;  // 1 on every x86-64 Linux
    if (cudaDeviceGetAttribute(&can, cudaDevAttrCanUseHostPointerForRegisteredMem, index) == cudaSuccess)
      return can != 0;
    (void)cudaGetLastError();
    return false;
  }
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    const DeviceGuard guard(0);
    PENSTOCK_TRY(guard.status());
    // Huge pages, filled before they are registered: 7 GB/s, where cudaHostAlloc makes 2.8 (H200, slabs of 8 MiB).
    void* data = allocate_host(bytes, kHugePage);
    if (data == nullptr) return Error(ErrorCode::out_of_memory, "cannot allocate " + format_bytes(bytes) + " to pin");
    (void)::madvise(data, bytes, MADV_POPULATE_WRITE);  // Linux 5.14; without it registering does the same, slower
    constexpr unsigned kFlags = cudaHostRegisterPortable | cudaHostRegisterMapped;  // kernels read it too
    Status pinned = cuda_status(cudaHostRegister(data, bytes, kFlags), "pinning " + format_bytes(bytes));
    if (!pinned) {
      std::free(data);
      return std::move(pinned).error();
    }
    return data;
  }
  void free_pinned(void* data) noexcept override {
    if (cudaHostUnregister(data) != cudaSuccess) (void)cudaGetLastError();
    std::free(data);
  }

 private:
  static const Probe& probed() {
    static const Probe result = probe();
    return result;
  }
};

}  // namespace

Backend& cuda_backend() {
  static CudaBackend backend;
  return backend;
}

}  // namespace penstock

#include "device/cuda/memory.hpp"

#include <algorithm>
#include <string>

#include "core/units.hpp"
#include "device/capped_counter.hpp"
#include "device/cuda/error.hpp"

namespace penstock {
namespace {

/// What cudaMallocAsync promises.
constexpr std::size_t kAlignment = 256;
/// Freed memory that the pool keeps when a stream is synchronised, so that the next read need not map it again, which
/// takes some milliseconds a gigabyte: this part of the device's memory, but no less than a gigabyte.
constexpr std::uint64_t kKeepPart = 16, kKeepBytes = std::uint64_t{1} << 30;

class CudaMemory final : public Memory {
 public:
  CudaMemory(int index, cudaMemPool_t pool, std::uint64_t cap_bytes)
      : index_(index), pool_(pool), counter_(cap_bytes) {}
  /// What is still handed out stays valid until it is freed; the driver keeps the pool that long.
  ~CudaMemory() override { (void)cudaMemPoolDestroy(pool_); }

  [[nodiscard]] Device device() const override { return {Device::Type::cuda, index_}; }
  [[nodiscard]] std::uint64_t in_use_bytes() const override { return counter_.in_use(); }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return counter_.peak(); }

 protected:
  Result<void*> do_allocate(std::uint64_t bytes, std::size_t alignment, const Stream& stream) override {
    const std::string name = device().name();
    if (alignment > kAlignment)
      return Error(ErrorCode::unsupported, name + ": alignment of more than " + std::to_string(kAlignment) + " bytes");
    if (!counter_.take(bytes))
      return Error(ErrorCode::out_of_memory, name + ": " + format_bytes(bytes) + " more than the " +
                                                 format_bytes(counter_.in_use()) + " in use would pass the cap of " +
                                                 format_bytes(counter_.cap()));
    const DeviceGuard guard(index_);  // the default stream is that of the current device
    void* data = nullptr;
    const cudaError_t error = cudaMallocFromPoolAsync(&data, bytes, pool_, static_cast<cudaStream_t>(stream.native()));
    if (error != cudaSuccess) {
      counter_.give(bytes);
      return cuda_error(error, name + ": allocating " + format_bytes(bytes));
    }
    return data;
  }
  void do_free(void* data, std::uint64_t bytes, const Stream& stream) noexcept override {
    const DeviceGuard guard(index_);
    // A failure means that the device is lost or the process ends; there is nobody left to tell.
    if (cudaFreeAsync(data, static_cast<cudaStream_t>(stream.native())) != cudaSuccess) (void)cudaGetLastError();
    counter_.give(bytes);
  }

 private:
  int index_;
  cudaMemPool_t pool_;
  CappedCounter counter_;
};

}  // namespace

Result<std::shared_ptr<Memory>> create_cuda_memory(int index, std::uint64_t cap_bytes) {
  const DeviceGuard guard(index);
  PENSTOCK_TRY(guard.status());
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypeNone;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = index;
  cudaMemPool_t pool = nullptr;
  PENSTOCK_TRY(cuda_status(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate"));
  auto memory = std::make_shared<CudaMemory>(index, pool, cap_bytes);
  std::size_t free_bytes = 0, all_bytes = 0;
  PENSTOCK_TRY(cuda_status(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo"));
  std::uint64_t keep = std::max<std::uint64_t>(kKeepBytes, all_bytes / kKeepPart);
  if (cap_bytes != 0) keep = std::min(keep, cap_bytes);
  PENSTOCK_TRY(
      cuda_status(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute"));
  return std::shared_ptr<Memory>(std::move(memory));
}

}  // namespace penstock

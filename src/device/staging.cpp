#include "device/staging.hpp"

#include <map>
#include <mutex>
#include <utility>

namespace penstock {
namespace {

/// Pools of the process, one for each device, made at first use.
class Pools {
 public:
  Result<std::shared_ptr<Memory>> of(Device device) {
    const std::scoped_lock lock(mutex_);
    auto& pool = pools_[{device.type, device.index}];
    if (!pool) {
      PENSTOCK_ASSIGN(pool, Memory::create(device, 0));
    }
    return pool;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<Device::Type, int>, std::shared_ptr<Memory>> pools_;
};

}  // namespace

// Never destroyed: at exit the device's driver may already be gone.
Result<std::shared_ptr<Memory>> staging_memory(Device device) {
  static auto& pools = *new Pools;
  return pools.of(device);
}

Result<std::shared_ptr<Memory>> result_memory(Device device) {
  static auto& pools = *new Pools;
  return pools.of(device);
}

}  // namespace penstock

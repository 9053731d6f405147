#include "device/staging.hpp"

#include <map>
#include <mutex>
#include <utility>

namespace penstock {

Result<std::shared_ptr<Memory>> staging_memory(Device device) {
  // Never destroyed: at exit the device's driver may already be gone.
  static std::mutex& mutex = *new std::mutex;
  static auto& pools = *new std::map<std::pair<Device::Type, int>, std::shared_ptr<Memory>>;
  const std::scoped_lock lock(mutex);
  auto& pool = pools[{device.type, device.index}];
  if (!pool) {
    PENSTOCK_ASSIGN(pool, Memory::create(device, 0));
  }
  return pool;
}

}  // namespace penstock

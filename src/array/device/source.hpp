// Where the elements of a write from device memory come from; constant while it runs.
#pragma once
#include "device/pinned_ring.hpp"
#include "penstock/array.hpp"

namespace penstock {

struct DeviceSource {
  Device device;
  const std::byte* data = nullptr;
  Strides strides;
  std::uint64_t item_bytes = 1;
  std::uint64_t slab_bytes = 0;
  Event ready;  // in the caller's stream
  std::shared_ptr<PinnedRing> ring;
  std::shared_ptr<Memory> memory;
};

}  // namespace penstock

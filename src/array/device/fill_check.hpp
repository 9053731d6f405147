// Which chunks of a batch hold nothing but the fill value: those are not stored.
#pragma once
#include <cstdint>

#include "device/portable.hpp"
#include "penstock/device.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Elements larger than this are not compared on a device.
inline constexpr std::uint32_t kMaxFillBytes = 256;

/// Index i looks at 16 bytes (tier 1, device/launch.hpp).  `sizes` of a chunk, kNotEncoded before, becomes
/// `chunk_bytes` when it has any other value.
struct FillCheck {
  const std::uint8_t* chunks = nullptr;  ///< the first one
  std::uint64_t stride = 0;              ///< from chunk to chunk, a multiple of 16
  std::uint64_t chunk_bytes = 0;
  std::uint64_t* sizes = nullptr;
  std::uint32_t item_bytes = 1;
  alignas(16) std::uint8_t fill[kMaxFillBytes] = {};  ///< one element, as it lies in a chunk; repeated up to 16 bytes

  [[nodiscard]] PENSTOCK_HD std::uint64_t vectors() const { return (chunk_bytes + 15) / 16; }
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const std::uint64_t chunk = i / vectors(), at = i % vectors() * 16;
    const std::uint8_t* bytes = chunks + chunk * stride + at;
    bool differs = false;
    if (16 % item_bytes == 0 && at + 16 <= chunk_bytes) {
      const auto value = load_aligned<Bytes16>(bytes), wanted = load_aligned<Bytes16>(fill);
      PENSTOCK_UNROLL
      for (int k = 0; k < 4; ++k) differs = differs || value.word[k] != wanted.word[k];
    } else {
      for (std::uint32_t k = 0; k < 16 && at + k < chunk_bytes; ++k)
        differs = differs || bytes[k] != fill[(at + k) % item_bytes];
    }
    if (differs && sizes[chunk] != chunk_bytes) atomic_min(&sizes[chunk], chunk_bytes);
  }
};

/// Looks at `count` chunks in the order of `stream`.  Errors: unsupported (built without CUDA), device_error.
[[nodiscard]] Status check_fill_cuda(const FillCheck& check, std::uint64_t count, const Stream& stream);

}  // namespace penstock

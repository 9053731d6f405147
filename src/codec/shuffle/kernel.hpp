// Elements to byte planes and back, on a device.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::shuffle {

/// Unit i of both filters is element i.  kSize: bytes of an element, 0: in `size`.
template <std::uint32_t kSize>
struct Elements {
  std::uint32_t size;

  [[nodiscard]] PENSTOCK_HD std::uint32_t bytes() const { return kSize != 0 ? kSize : size; }
  /// A length that is no whole number of elements has no encoding.
  [[nodiscard]] PENSTOCK_HD std::uint64_t in_bytes(std::uint64_t out_bytes) const {
    return out_bytes % bytes() == 0 ? out_bytes : ~std::uint64_t{0};
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t units(std::uint64_t out_bytes) const { return out_bytes / bytes(); }
};

template <std::uint32_t kSize>
struct Unshuffle : Elements<kSize> {
  using Elements<kSize>::bytes;

  PENSTOCK_HD void operator()(const std::uint8_t* in, std::uint8_t* out, std::uint64_t out_bytes,
                              std::uint64_t i) const {
    const std::uint64_t n = out_bytes / bytes();
    if constexpr (kSize == 2 || kSize == 4) {  // outputs of the chain are aligned
      std::uint32_t element = 0;
      PENSTOCK_UNROLL
      for (std::uint32_t j = 0; j < kSize; ++j) element |= static_cast<std::uint32_t>(in[j * n + i]) << (8 * j);
      if constexpr (kSize == 2)
        store_aligned(out + 2 * i, static_cast<std::uint16_t>(element));
      else
        store_aligned(out + 4 * i, element);
    } else {
      for (std::uint32_t j = 0; j < bytes(); ++j) out[i * bytes() + j] = in[j * n + i];
    }
  }
};

/// The reverse.
template <std::uint32_t kSize>
struct Shuffle : Elements<kSize> {
  using Elements<kSize>::bytes;

  PENSTOCK_HD void operator()(const std::uint8_t* in, std::uint8_t* out, std::uint64_t out_bytes,
                              std::uint64_t i) const {
    const std::uint64_t n = out_bytes / bytes();
    if constexpr (kSize == 2 || kSize == 4) {
      std::uint32_t element = 0;
      if constexpr (kSize == 2)
        element = load_aligned<std::uint16_t>(in + 2 * i);
      else
        element = load_aligned<std::uint32_t>(in + 4 * i);
      PENSTOCK_UNROLL
      for (std::uint32_t j = 0; j < kSize; ++j) out[j * n + i] = static_cast<std::uint8_t>(element >> (8 * j));
    } else {
      for (std::uint32_t j = 0; j < bytes(); ++j) out[j * n + i] = in[i * bytes() + j];
    }
  }
};

}  // namespace penstock::shuffle

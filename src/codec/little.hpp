// Little-endian numbers in bytes.
#pragma once
#include <cstddef>
#include <cstdint>

namespace penstock {

inline std::uint32_t load_little32(const std::byte* p) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(p[i]) << (8 * i);
  return value;
}

inline void store_little32(std::byte* p, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) p[i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace penstock

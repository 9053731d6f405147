// What the encoder and the decoder of LZ4 blocks have in common.
// Source: lz4_Block_format.md of the lz4 project.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock::lz4 {

/// What stands around a block.
enum class Framing : std::uint32_t {
  block,      ///< nothing
  numcodecs,  ///< its decoded size in front, 4 bytes, little endian
};
PENSTOCK_HD constexpr std::uint32_t header_bytes(Framing framing) { return framing == Framing::numcodecs ? 4 : 0; }

// Rules for the end of a block, as liblz4 holds them against the room for the output.
inline constexpr std::uint32_t kLastLiterals = 5;     // no match reaches into the last 5 bytes
inline constexpr std::uint32_t kLastMatchStart = 12;  // nor starts in the last 12

/// Most bytes that liblz4 puts into a block, and most that `bytes` can become.
inline constexpr std::uint64_t kMaxInput = 0x7E000000;
PENSTOCK_HD constexpr std::uint64_t bound(std::uint64_t bytes) { return bytes + bytes / 255 + 16; }

}  // namespace penstock::lz4

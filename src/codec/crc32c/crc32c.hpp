// The codec "crc32c", and the checksum itself.
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kCrc32cCodec;

/// CRC-32C (Castagnoli) of `bytes`, continuing from `crc` (0 to begin).  Uses the CPU's instruction where there is one.
std::uint32_t crc32c(ByteView bytes, std::uint32_t crc = 0);
/// The same by tables only; for tests and CPUs without the instruction.
std::uint32_t crc32c_portable(ByteView bytes, std::uint32_t crc = 0);
}  // namespace penstock

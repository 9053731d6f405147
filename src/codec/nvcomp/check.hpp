// What we look at ourselves in chunks that nvCOMP decodes: their headers before, sizes and checksum afterwards.
// nvCOMP promises nothing for input that is not a good stream, so what is seen to be something else is kept from it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "codec/checksum/sums.hpp"
#include "codec/nvcomp/library.hpp"
#include "codec/status.hpp"
#include "device/portable.hpp"

namespace penstock::nvcomp {

/// Alignment of the input that all three decoders take.
inline constexpr std::uint64_t kInputAlign = 8;
/// A chunk has no more bytes, encoded or decoded.
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

/// The arrays that nvCOMP takes, `count` of each, in device memory.
struct Arrays {
  const void** in = nullptr;
  std::size_t* in_bytes = nullptr;
  void** out = nullptr;
  std::size_t* room = nullptr;
  std::size_t* out_bytes = nullptr;
  Outcome* outcomes = nullptr;
  std::uint8_t* spare = nullptr;  ///< kSpareBytes: a good stream for chunks that nvCOMP is not to see, and its output
};
inline constexpr std::uint64_t kSpareBytes = 256, kSpareOut = 128;

/// The smallest streams: of one byte each, which is 65.
struct Spare {
  std::uint8_t size;
  std::uint8_t bytes[24];
};
PENSTOCK_HD constexpr Spare spare_stream(Format format) {
  switch (format) {
    case Format::zstd: return {10, {0x28, 0xB5, 0x2F, 0xFD, 0x20, 1, 9, 0, 0, 65}};  // a raw block
    case Format::lz4: return {2, {0x10, 65}};                                        // one literal
    default: break;
  }
  return {24, {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1, 1, 0, 0xFE, 0xFF, 65, 0x8B, 0x9E, 0xD9, 0xD3, 1, 0, 0}};
}

PENSTOCK_HD std::uint32_t little32(const std::uint8_t* at) {
  return at[0] | static_cast<std::uint32_t>(at[1]) << 8 | static_cast<std::uint32_t>(at[2]) << 16 |
         static_cast<std::uint32_t>(at[3]) << 24;
}

/// The size that the header of a zstd frame says (RFC 8878 section 3.1.1.1); 0: none, or the header is cut short. There
/// is no dictionary.
PENSTOCK_HD std::uint64_t zstd_content_size(const std::uint8_t* in, std::uint64_t in_bytes) {
  const std::uint32_t single = in[4] >> 5 & 1, flag = in[4] >> 6;
  const std::uint32_t field = flag == 0 ? single : 1u << flag, at = 5 + (1 - single);
  if (in_bytes < at + field) return 0;
  std::uint64_t size = 0;
  for (std::uint32_t i = 0; i < field; ++i) size |= static_cast<std::uint64_t>(in[at + i]) << (8 * i);
  return flag == 1 ? size + 256 : size;
}

/// Whether nvCOMP may see a chunk: unsupported_feature where only the CPU does; the bytes in front of its stream.
struct Seen {
  DecodeStatus status = DecodeStatus::unsupported_feature;
  std::uint32_t front = 0;
};
PENSTOCK_HD Seen look_at(const DecodeTask& task, Format format) {
  constexpr std::uint64_t kLeast[] = {9, 5, 18};  // by Format
  constexpr std::uint32_t kZstdMagic = 0xFD2FB528, kChecksumAndDictionary = 7;
  const auto* const in = reinterpret_cast<const std::uint8_t*>(task.in);
  if (task.in_bytes > kMaxBytes || task.out_bytes > kMaxBytes) return {DecodeStatus::too_large, 0};
  if (task.in_bytes < kLeast[static_cast<std::uint32_t>(format)] || task.out_bytes == 0) return {};
  Seen seen;
  bool good = false;
  if (format == Format::zstd) {
    good = little32(in) == kZstdMagic && (in[4] & kChecksumAndDictionary) == 0 &&
           zstd_content_size(in, task.in_bytes) == task.out_bytes;
  } else if (format == Format::lz4) {
    seen.front = 4;
    good = little32(in) == task.out_bytes;
  } else {  // one member
    good = in[0] == 0x1F && in[1] == 0x8B && in[2] == 8 && little32(in + task.in_bytes - 4) == task.out_bytes;
  }
  good = good && (reinterpret_cast<std::uintptr_t>(in) + seen.front) % (format == Format::lz4 ? 4 : kInputAlign) == 0;
  if (good) seen.status = DecodeStatus::ok;
  return seen;
}

/// Fills in the arrays for a chunk, and its result: ok where nvCOMP sees it.
PENSTOCK_HD void open_chunk(const DecodeTask& task, Format format, const Arrays& arrays, std::uint32_t chunk,
                            ChunkStatus* results) {
  const Seen seen = look_at(task, format);
  const bool good = seen.status == DecodeStatus::ok;
  ChunkStatus result;
  result.status = seen.status;
  results[chunk] = result;
  arrays.in[chunk] = good ? reinterpret_cast<const std::uint8_t*>(task.in) + seen.front : arrays.spare;
  arrays.in_bytes[chunk] = good ? task.in_bytes - seen.front : spare_stream(format).size;
  arrays.out[chunk] = good ? reinterpret_cast<std::uint8_t*>(task.out) : arrays.spare + kSpareOut;
  arrays.room[chunk] = good ? task.out_bytes : 1;
  arrays.out_bytes[chunk] = 0;
  arrays.outcomes[chunk] = kSuccess;
}

/// The status of a chunk that nvCOMP saw, but for its checksum.
PENSTOCK_HD DecodeStatus status_of(Outcome outcome, std::uint64_t made, std::uint64_t wanted) {
  switch (outcome) {
    case kSuccess: return made == wanted ? DecodeStatus::ok : DecodeStatus::short_output;
    case kBadChecksum: return DecodeStatus::bad_checksum;
    case kOutputTooSmall: return DecodeStatus::output_too_small;
    case kChunkTooLarge: return DecodeStatus::too_large;
    default: return DecodeStatus::refused_by_nvcomp;
  }
}

/// Makes the result of a chunk final.
template <class Team>
PENSTOCK_HD void finish_chunk(const Team& team, const DecodeTask& task, Format format, const Arrays& arrays,
                              std::uint32_t chunk, const checksum::Crc& crc32, ChunkStatus* results,
                              checksum::Shared& shared) {
  ChunkStatus result = results[chunk];
  if (result.status != DecodeStatus::ok) return;  // nvCOMP did not see it
  result.status = status_of(arrays.outcomes[chunk], arrays.out_bytes[chunk], task.out_bytes);
  if (result.status == DecodeStatus::ok && format == Format::gzip) {
    const auto* const in = reinterpret_cast<const std::uint8_t*>(task.in);
    const auto* const out = assume_global(reinterpret_cast<const std::uint8_t*>(task.out));
    if (checksum::crc(team, crc32, out, task.out_bytes, shared) != little32(in + task.in_bytes - 8))
      result.status = DecodeStatus::bad_checksum;
  }
  result.output_bytes = result.status == DecodeStatus::ok ? task.out_bytes : 0;
  team.each_lane([&](std::uint32_t lane) {
    if (lane == 0) results[chunk] = result;
  });
}

}  // namespace penstock::nvcomp

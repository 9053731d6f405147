// A way that bytes can take between a file and host memory.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/open_file.hpp"
#include "penstock/bytes.hpp"
#include "penstock/io.hpp"

namespace penstock::io {

/// Most bytes of a piece that goes through memory of our own, on the host.
inline constexpr std::uint64_t kMaxStagedBytes = std::uint64_t{4} << 20;

enum class Direction : std::uint8_t { read, write };

/// "For this file: yes, or why not", and what memory it takes there.
struct Offer {
  bool serves = false;
  std::string_view why;            ///< lives as long as the file
  std::uint64_t offset_align = 1;  ///< of offsets and lengths in the file
  std::uint64_t memory_align = 1;  ///< of addresses
  /// Room that a piece may need beyond its bytes.
  [[nodiscard]] std::uint64_t slack_bytes() const { return offset_align == 1 ? 0 : 2 * offset_align; }
};

struct Engine {
  IoEngine kind;
  std::string_view name;
  /// The least number of pieces worth having under way: those that wait for the disk use no core.
  std::uint64_t min_pieces;
  /// The largest pieces on the way to or from a device.
  std::uint64_t device_piece_bytes;
  /// Why `automatic` leaves it to who asks for it by name; empty: it does not.
  std::string (*unasked)(const OpenFile& file);
  Offer (*offer)(OpenFile& file);
  /// Brings `bytes` from `offset` on into `room`, which has `slack_bytes` more and begins at `memory_align`; the answer
  /// lies in it.  All of them or an error.
  Result<ByteView> (*read)(OpenFile& file, const Offer& offer, std::uint64_t offset, std::uint64_t bytes,
                           ByteSpan room);
  /// Writes `from`; `room`: memory of its own, as of read.
  Status (*write)(OpenFile& file, const Offer& offer, std::uint64_t offset, ByteView from, ByteSpan room);
};

/// All of them, the first that serves a file and is worth it is taken (list.cpp).
std::span<const Engine> engines();
const Engine& buffered_engine();
const Engine& direct_engine();

}  // namespace penstock::io

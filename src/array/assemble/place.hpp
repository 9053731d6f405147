// Placement: the last step of a read.  Decoded chunks are written where they belong in the target, and what the codecs
// left to do is done on the way: axis order, byte order, steps, fill value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/bytes.hpp"
#include "penstock/device.hpp"
#include "penstock/dtype.hpp"
#include "penstock/error.hpp"
#include "penstock/region.hpp"

namespace penstock {

/// `count` neighbouring units of `unit_bytes` (1, 2, 4, 8 or 16) inside an element, whose bytes are to be reversed.
struct SwapRun {
  std::uint32_t offset_bytes = 0;
  std::uint32_t unit_bytes = 1;
  std::uint32_t count = 1;
  bool operator==(const SwapRun&) const = default;
};
/// The units of an element of `dtype` that change when the byte order does, in order; fields of structures included.
/// Bytes that no run covers stay as they are.
std::vector<SwapRun> swap_runs(const DType& dtype);

/// One chunk, or a part of one, and where it goes.  All spans have the rank of the chunk (0 to kMaxRank).
/// The memory of items placed by one call must not overlap in the target, nor with any source.
struct PlaceItem {
  const std::byte* source = nullptr;  ///< element 0 of the raw chunk; nullptr: absent, the fill value
  std::span<const std::int64_t>
      source_strides;           ///< bytes, of the chunk (ChunkLayout::strides); unused for the fill value
  std::span<const Range> part;  ///< the elements of the chunk that are placed
  std::byte* target = nullptr;  ///< where the first element of the part goes
  std::span<const std::int64_t> target_strides;  ///< bytes between neighbours of the part, in the target; any sign
  std::uint32_t item_bytes = 1;                  ///< size of an element
  std::span<const SwapRun> swaps;                ///< empty: native byte order; unused for the fill value
  ByteView fill;                                 ///< one element in native order; empty: zeros
  /// When the target is read again.  `soon` keeps it in the cache; `after_all`: when more was written than caches hold.
  enum class NextUse : std::uint8_t { later, soon, after_all } next_use = NextUse::later;
};

/// Places one item in host memory.  The bounds are the caller's: a part lies in its chunk, the target has room.
/// Errors: invalid_argument (ranks differ, sizes of 0, runs outside the element).
[[nodiscard]] Status place_cpu(const PlaceItem& item);

/// Places items in the memory of a CUDA device, in the order of `stream`; sources: device memory, or pinned host memory
/// (slowly, unless reads_in_rows); targets: device memory.  The spans may be freed when the call returns.  No memory is
/// allocated.
/// Errors: as place_cpu; unsupported (built without CUDA), device_error.
[[nodiscard]] Status place_cuda(std::span<const PlaceItem> items, const Stream& stream);

/// Whether place_cuda reads the item's source as a bus likes it: each byte once, in vectors of 16 bytes that follow
/// each other for whole 128-byte lines.  Then pinned memory can be the source, and need not be copied first. False for
/// what has no source, and for items that place_cuda would refuse.
[[nodiscard]] bool reads_in_rows(const PlaceItem& item);

}  // namespace penstock

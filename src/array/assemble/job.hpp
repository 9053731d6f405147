// What placement comes down to: words copied along a few strides.  Every PlaceItem becomes one job (structures and long
// fill values: a few), which the CPU and the device then carry out.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "array/assemble/place.hpp"

namespace penstock {

/// One loop of a job.
struct PlaceDim {
  std::uint64_t count = 1;
  std::int64_t source_stride = 0;  ///< bytes
  std::int64_t target_stride = 0;
};

/// Copies words of `word_bytes` (1, 2, 4, 8, 16) with the bytes of each `swap_bytes` unit reversed (1: as they are).
struct PlaceJob {
  const std::byte* source = nullptr;  ///< nullptr: every word is `fill`
  std::byte* target = nullptr;
  std::uint32_t word_bytes = 1;
  std::uint32_t swap_bytes = 1;
  std::uint32_t rank = 0;
  PlaceItem::NextUse next_use = PlaceItem::NextUse::later;
  std::array<PlaceDim, kMaxRank + 2> dims;  ///< slowest first in the target
  std::array<std::byte, 16> fill{};

  [[nodiscard]] std::span<const PlaceDim> loops() const { return {dims.data(), rank}; }
};

/// Fewest loops for the same work: loops of one turn are dropped, target strides made positive and sorted, neighbours
/// that continue each other merged.
void simplify(PlaceJob& job);

/// Checks an item.
[[nodiscard]] Status check_item(const PlaceItem& item);
/// The jobs of a checked item, simplified; none when it is empty.
void append_jobs(const PlaceItem& item, std::vector<PlaceJob>& jobs);
/// True and the job, when the item is one job: the usual case, without allocation.
bool single_job(const PlaceItem& item, PlaceJob& job);

}  // namespace penstock

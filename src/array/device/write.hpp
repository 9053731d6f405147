// Array::write from memory of a device.
#pragma once
#include "penstock/array.hpp"

namespace penstock {

/// Bytes that one slab brings down at most, and small objects are taken together up to.
inline constexpr std::uint64_t kDownSlabBytes = std::uint64_t{16} << 20;

/// Writes `source`, elements in the memory of source.device, to `region`.  Whole objects come down through slabs of the
/// pinned ring, gathered on the device where they lie strided, and are encoded by the CPU while others come down; or
/// the device encodes them first (docs/concepts/encoding.md). Waits for the work that is in source.stream now; when the
/// call returns, `source` is no longer used. Errors: as Array::write; invalid_argument (a stream of another device),
/// unsupported (variable-length elements).
[[nodiscard]] Result<Report> write_from_device(const Array& array, const Region& region, const Target& source,
                                               const Options& options, std::uint64_t slab_bytes = kDownSlabBytes);

}  // namespace penstock

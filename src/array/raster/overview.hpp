// An image half as large: each element of up to four.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "exec/job.hpp"
#include "penstock/cog_options.hpp"
#include "penstock/dtype.hpp"

namespace penstock {

/// Elements (band, y, x) in memory, each row contiguous.
struct ImageView {
  const std::byte* data = nullptr;
  std::int64_t band_stride = 0, row_stride = 0, column_stride = 0;  ///< bytes
  std::uint64_t bands = 0, height = 0, width = 0;
};

/// How elements are joined.
struct OverviewRule {
  OverviewMethod method = OverviewMethod::average;
  DType dtype;
  std::optional<std::vector<std::byte>> nodata;  ///< does not count, and stands where nothing counts; else 0 does
};
/// Whether such elements can be joined so.  Errors: unsupported, naming both.
Status check_overview(const OverviewRule& rule);

/// `coarse`: bands x ceil(height / 2) x ceil(width / 2) elements in C order.  `mask`: nullptr, or rows of bytes as
/// `fine` has them, 0 where nothing counts; `coarse_mask` is made of it: 255 where anything does.
Status make_overview(const OverviewRule& rule, const ImageView& fine, const std::uint8_t* mask, std::byte* coarse,
                     std::uint8_t* coarse_mask, Job& job);

}  // namespace penstock

// Shapes and regions of n-dimensional arrays.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Largest number of dimensions.
inline constexpr std::size_t kMaxRank = 32;

/// Extent of each dimension, slowest first.
using Shape = std::vector<std::uint64_t>;
/// Distance in bytes between neighbours of each dimension; may be negative.
using Strides = std::vector<std::int64_t>;

/// Elements start, start+step, ... of one dimension: `count` of them.  step != 0; negative walks backwards.
struct Range {
  std::uint64_t start = 0;
  std::uint64_t count = 0;
  std::int64_t step = 1;
  bool operator==(const Range&) const = default;
};

/// One Range per dimension.  Shape of the result = the counts.
using Region = std::vector<Range>;

/// start:stop:step of one dimension, with NumPy's rules: negative numbers count from the end, what lies outside is
/// clipped, what is left out is the whole of it.  step != 0.
struct Slice {
  std::optional<std::int64_t> start = {}, stop = {}, step = {};
};
/// What a basic selection says of one dimension: one element, or a slice.
using Index = std::variant<std::int64_t, Slice>;
/// The elements of dimension number `dimension`, of this extent, that `index` selects.
/// Errors: out_of_range (an integer outside), invalid_argument (step 0).
PENSTOCK_API Result<Range> range_of(const Index& index, std::uint64_t extent, std::size_t dimension);

/// The whole of `shape`.
PENSTOCK_API Region whole(std::span<const std::uint64_t> shape);
/// Counts of a region.
PENSTOCK_API Shape shape_of(const Region& region);
/// Product of the extents.  Errors: out_of_range when it does not fit in 64 bits.
PENSTOCK_API Result<std::uint64_t> element_count(std::span<const std::uint64_t> shape);
/// Row-major (C order) strides in bytes.  Errors: out_of_range on overflow.
PENSTOCK_API Result<Strides> c_strides(std::span<const std::uint64_t> shape, std::uint64_t item_bytes);
/// Checks rank and bounds of every range.  Errors: out_of_range naming the dimension.
PENSTOCK_API Status check_region(const Region& region, std::span<const std::uint64_t> shape);
/// Parses "0:10,5,::2,..." against a shape, NumPy slice rules (negative indices count from the end, out-of-bounds
/// slices are clipped, an integer selects one element and is kept as a dimension of extent 1). Errors: invalid_argument
/// (syntax), out_of_range (an integer index outside).
PENSTOCK_API Result<Region> parse_region(std::string_view text, std::span<const std::uint64_t> shape);
/// "[3, 4, 5]"
PENSTOCK_API std::string to_string(std::span<const std::uint64_t> shape);
/// "0:10, 5:6, 0:8:2"
PENSTOCK_API std::string to_string(const Region& region);

}  // namespace penstock
